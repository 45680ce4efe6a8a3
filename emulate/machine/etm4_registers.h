/* Registers of an ETMv4, by offset. Source: Arm ETM architecture specification (IHI 0064H) 7. */
#ifndef CSP_EMULATE_MACHINE_ETM4_REGISTERS_H
#define CSP_EMULATE_MACHINE_ETM4_REGISTERS_H

enum csp_etm4_register {
    TRCPRGCTLR = 0x004,
    TRCSTATR = 0x00c,
    TRCCONFIGR = 0x010,
    TRCEVENTCTL0R = 0x020,
    TRCTSCTLR = 0x030,
    TRCSYNCPR = 0x034,
    TRCCCCTLR = 0x038,
    TRCBBCTLR = 0x03c,
    TRCTRACEIDR = 0x040,
    TRCVICTLR = 0x080,
    TRCVIIECTLR = 0x084,
    TRCVISSCTLR = 0x088,
    TRCSEQEVR0 = 0x100,
    TRCSEQRSTEVR = 0x118,
    TRCSEQSTR = 0x11c,
    TRCCNTRLDVR0 = 0x140,
    TRCCNTCTLR0 = 0x150,
    TRCCNTVR0 = 0x160,
    TRCIDR8 = 0x180,
    TRCIDR0 = 0x1e0,
    TRCIDR1 = 0x1e4,
    TRCIDR2 = 0x1e8,
    TRCIDR3 = 0x1ec,
    TRCIDR4 = 0x1f0,
    TRCIDR5 = 0x1f4,
    TRCRSCTLR0 = 0x200,
    TRCOSLAR = 0x300,
    TRCOSLSR = 0x304,
    TRCPDSR = 0x314,
    TRCACVR0 = 0x400, /* 64 bits each */
    TRCACATR0 = 0x480,
};

#endif
