/**
 * The part that all of our programs share. It makes the system calls of a table (call-table.ts), one after the other; each
 * entry says where its result goes and which entry follows a negative, a zero and a positive result. The only thing
 * it can do besides is to subtract. At first it notes the arguments that it was started with.
 *
 *   start:  argument = argv[1], arguments = argv + 1, environment = the environment; entry = the first of the table
 *   next:   each of the first four arguments = the word at that address, where the entry says so
 *           result = entry.call < 0 ? argument 0 - argument 1 : call(arguments)
 *           last step = entry, last result = the word at entry.result = result
 *           entry = result < 0 ? entry.ifNegative : result == 0 ? entry.ifZero : entry.ifPositive
 */
import type { Architecture } from './call-numbers.ts';

const X64 = `
  488d742410      lea   16(%rsp), %rsi
  488b0c24        mov   (%rsp), %rcx
  488d14ce        lea   (%rsi,%rcx,8), %rdx
  488b3e          mov   (%rsi), %rdi
  41bf00016000    mov   $0x600100, %r15d        # MEMORY
  49893f          mov   %rdi, (%r15)
  49897708        mov   %rsi, 8(%r15)
  49895710        mov   %rdx, 16(%r15)
  488d1d78000000  lea   table(%rip), %rbx
  4c8b6338        mov   56(%rbx), %r12          # next
  488b7b08        mov   8(%rbx), %rdi
  49d1ec          shr   %r12
  7303            jnc   . + 5
  488b3f          mov   (%rdi), %rdi
  488b7310        mov   16(%rbx), %rsi
  49d1ec          shr   %r12
  7303            jnc   . + 5
  488b36          mov   (%rsi), %rsi
  488b5318        mov   24(%rbx), %rdx
  49d1ec          shr   %r12
  7303            jnc   . + 5
  488b12          mov   (%rdx), %rdx
  4c8b5320        mov   32(%rbx), %r10
  49d1ec          shr   %r12
  7303            jnc   . + 5
  4d8b12          mov   (%r10), %r10
  4c8b4328        mov   40(%rbx), %r8
  4c8b4b30        mov   48(%rbx), %r9
  488b03          mov   (%rbx), %rax
  4885c0          test  %rax, %rax
  7804            js    subtract
  0f05            syscall
  eb06            jmp   store
  4889f8          mov   %rdi, %rax              # subtract
  4829f0          sub   %rsi, %rax
  49895f28        mov   %rbx, 40(%r15)          # store
  49894730        mov   %rax, 48(%r15)
  488b4b40        mov   64(%rbx), %rcx
  488901          mov   %rax, (%rcx)
  488b4b58        mov   88(%rbx), %rcx
  4885c0          test  %rax, %rax
  480f444b50      cmovz 80(%rbx), %rcx
  480f484b48      cmovs 72(%rbx), %rcx
  4889cb          mov   %rcx, %rbx
  eb8d            jmp   next
  0f1f440000      nop`;

const ARM64 = `
  e30340f9  ldr  x3, [sp]
  e1430091  add  x1, sp, #16
  220c038b  add  x2, x1, x3, lsl #3
  200040f9  ldr  x0, [x1]
  150ca0d2  mov  x21, #0x600000          // MEMORY
  b5020491  add  x21, x21, #0x100
  a00600a9  stp  x0, x1, [x21]
  a20a00f9  str  x2, [x21, #16]
  53030010  adr  x19, table
  680240a9  ldp  x8, x0, [x19]           // next
  610a41a9  ldp  x1, x2, [x19, #16]
  631242a9  ldp  x3, x4, [x19, #32]
  655a43a9  ldp  x5, x22, [x19, #48]
  56000036  tbz  x22, #0, . + 8
  000040f9  ldr  x0, [x0]
  56000836  tbz  x22, #1, . + 8
  210040f9  ldr  x1, [x1]
  56001036  tbz  x22, #2, . + 8
  420040f9  ldr  x2, [x2]
  56001836  tbz  x22, #3, . + 8
  630040f9  ldr  x3, [x3]
  6800f8b7  tbnz x8, #63, subtract
  010000d4  svc  #0
  02000014  b    store
  000001cb  sub  x0, x0, x1              // subtract
  b38202a9  stp  x19, x0, [x21, #40]     // store
  692a44a9  ldp  x9, x10, [x19, #64]
  200100f9  str  x0, [x9]
  6b3245a9  ldp  x11, x12, [x19, #80]
  1f0000f1  cmp  x0, #0
  73018c9a  csel x19, x11, x12, eq
  53b1939a  csel x19, x10, x19, lt
  e9ffff17  b    next
  1f2003d5  nop`;

/** The table follows at its end. */
export function machineCode(architecture: Architecture): Buffer {
  const listing = architecture === 'x64' ? X64 : ARM64;
  return Buffer.from([...listing.matchAll(/^ {2}([0-9a-f]+) /gm)].map(([, hex = '']) => hex).join(''), 'hex');
}
