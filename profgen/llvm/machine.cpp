#include "profgen/llvm/machine.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>

extern "C" {
void LLVMInitializeX86TargetInfo(void);
void LLVMInitializeX86TargetMC(void);
void LLVMInitializeX86Disassembler(void);
void LLVMInitializeAArch64TargetInfo(void);
void LLVMInitializeAArch64TargetMC(void);
void LLVMInitializeAArch64Disassembler(void);
}

using namespace llvm;

struct csp_machine {
    std::unique_ptr<const MCRegisterInfo> registers;
    std::unique_ptr<const MCAsmInfo> assembly;
    std::unique_ptr<const MCSubtargetInfo> subtarget;
    std::unique_ptr<const MCInstrInfo> instructions;
    std::unique_ptr<const MCInstrAnalysis> analysis;
    std::unique_ptr<MCContext> context;
    std::unique_ptr<const MCDisassembler> disassembler;
};

int csp_machine_create(struct csp_machine **machine, uint16_t elf_machine, struct csp_diag *diag)
{
    *machine = nullptr;
    Triple triple;
    const char *features = "";
    if (elf_machine == ELF::EM_X86_64) {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86Disassembler();
        triple = Triple("x86_64-unknown-linux-gnu");
    } else if (elf_machine == ELF::EM_AARCH64) {
        LLVMInitializeAArch64TargetInfo();
        LLVMInitializeAArch64TargetMC();
        LLVMInitializeAArch64Disassembler();
        triple = Triple("aarch64-unknown-linux-gnu");
        /* An ELF file does not tell which extensions its code uses: know them all. */
        features = "+all";
    } else {
        return csp_fail(diag, CSP_ERR_UNSUPPORTED,
                        "the binary's machine (ELF number %u) is neither x86-64 nor AArch64",
                        elf_machine);
    }
    std::string error;
    const Target *target = TargetRegistry::lookupTarget(triple, error);
    if (!target)
        return csp_fail(diag, CSP_ERR_UNSUPPORTED, "libLLVM cannot disassemble: %s", error.c_str());

    auto made = std::make_unique<csp_machine>();
    made->registers.reset(target->createMCRegInfo(triple));
    made->assembly.reset(target->createMCAsmInfo(*made->registers, triple, MCTargetOptions()));
    made->subtarget.reset(target->createMCSubtargetInfo(triple, "", features));
    made->instructions.reset(target->createMCInstrInfo());
    made->analysis.reset(target->createMCInstrAnalysis(made->instructions.get()));
    made->context = std::make_unique<MCContext>(triple, made->assembly.get(), made->registers.get(),
                                                made->subtarget.get());
    made->disassembler.reset(target->createMCDisassembler(*made->subtarget, *made->context));
    if (!made->disassembler || !made->analysis)
        return csp_fail(diag, CSP_ERR_UNSUPPORTED, "libLLVM has no disassembler for %s",
                        triple.str().c_str());
    *machine = made.release();
    return 0;
}

static uint8_t insn_flags(const MCInstrDesc &desc)
{
    if (desc.isCall())
        return CSP_INSN_CALL;
    if (desc.isReturn())
        return CSP_INSN_RETURN;
    if (!desc.isBranch())
        return 0;
    uint8_t flags = CSP_INSN_BRANCH;
    if (desc.isBarrier())
        flags |= CSP_INSN_NEVER_FALLS;
    if (desc.isIndirectBranch())
        flags |= CSP_INSN_INDIRECT;
    return flags;
}

bool csp_machine_decode(const struct csp_machine *machine, const uint8_t *bytes, size_t size,
                        uint64_t address, struct csp_insn *insn)
{
    MCInst inst;
    uint64_t length = 0;
    auto status = machine->disassembler->getInstruction(inst, length, ArrayRef(bytes, size),
                                                        address, nulls());
    *insn = {};
    insn->size = length ? static_cast<uint32_t>(length) : 1;
    if (status == MCDisassembler::Fail)
        return false;
    insn->flags = insn_flags(machine->instructions->get(inst.getOpcode()));
    if ((insn->flags & (CSP_INSN_CALL | CSP_INSN_BRANCH)) && !(insn->flags & CSP_INSN_INDIRECT))
        insn->has_target = machine->analysis->evaluateBranch(inst, address, length, insn->target);
    return true;
}

void csp_machine_destroy(struct csp_machine *machine)
{
    delete machine;
}
