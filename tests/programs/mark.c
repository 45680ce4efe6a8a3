/* mark N: a mark in the machine's truth. */
__asm__(".globl _start\n"
        "_start:\n"
        "    ldr x1, [sp, #16]\n"
        "    ldrb w0, [x1]\n"
        "    sub w0, w0, #'0'\n"
        "    b 1f\n"
        "1:  hint #93\n"
        "    mov x0, #0\n"
        "    mov x8, #93\n"
        "    svc #0\n");
