/**
 * The part that all entry programs share: it makes the calls of the table behind it, one after the other, and then
 * executes the program that its arguments name. If a call fails, or the program cannot be started, it ends with a
 * message and code 125.
 *
 *   next:  entry = table[i]; if entry.call == -1: execve(argv[1], argv + 1, environment)
 *          first argument = entry.arguments[0] == -1 ? result of the last call : entry.arguments[0]
 *          if call(first argument, the other four) < 0: fail
 *   fail:  write(2, message); exit_group(125)
 */
import type { Architecture } from './call-numbers.ts';

/** Both codes expect a message of this length behind them, and the table behind that. */
const MESSAGE = 'sandbox: a step into the sandbox was refused.'.padEnd(47).concat('\n');

/** An entry of the table: the number of a call, or -1 at its end, and five arguments. */
export const ENTRY_WORDS = 6;

const X64 = `
  488d1da9000000  lea   table(%rip), %rbx
  4531e4          xor   %r12d, %r12d
  488b03          mov   (%rbx), %rax            # next
  4883f8ff        cmp   $-1, %rax
  742c            je    exec
  488b7b08        mov   8(%rbx), %rdi
  4883ffff        cmp   $-1, %rdi
  490f44fc        cmove %r12, %rdi
  488b7310        mov   16(%rbx), %rsi
  488b5318        mov   24(%rbx), %rdx
  4c8b5320        mov   32(%rbx), %r10
  4c8b4328        mov   40(%rbx), %r8
  0f05            syscall
  4885c0          test  %rax, %rax
  7820            js    fail
  4989c4          mov   %rax, %r12
  4883c330        add   $48, %rbx
  ebcb            jmp   next
  488b0c24        mov   (%rsp), %rcx            # exec
  488d742410      lea   16(%rsp), %rsi
  488b3e          mov   (%rsi), %rdi
  488d14ce        lea   (%rsi,%rcx,8), %rdx
  b83b000000      mov   $59, %eax
  0f05            syscall
  b801000000      mov   $1, %eax                # fail
  bf02000000      mov   $2, %edi
  488d3519000000  lea   message(%rip), %rsi
  ba30000000      mov   $48, %edx
  0f05            syscall
  b8e7000000      mov   $231, %eax
  bf7d000000      mov   $125, %edi
  0f05            syscall
  660f1f440000    nop`;

const ARM64 = `
  13050010  adr  x19, table
  140080d2  mov  x20, #0
  680240a9  ldp  x8, x0, [x19]           // next
  1f0500b1  cmn  x8, #1
  40010054  b.eq exec
  1f0400b1  cmn  x0, #1
  8002809a  csel x0, x20, x0, eq
  610a41a9  ldp  x1, x2, [x19, #16]
  631242a9  ldp  x3, x4, [x19, #32]
  010000d4  svc  #0
  4001f8b7  tbnz x0, #63, fail
  f40300aa  mov  x20, x0
  73c20091  add  x19, x19, #48
  f5ffff17  b    next
  e30340f9  ldr  x3, [sp]                // exec
  e1430091  add  x1, sp, #16
  200040f9  ldr  x0, [x1]
  220c038b  add  x2, x1, x3, lsl #3
  a81b80d2  mov  x8, #221
  010000d4  svc  #0
  400080d2  mov  x0, #2                  // fail
  e1000010  adr  x1, message
  020680d2  mov  x2, #48
  080880d2  mov  x8, #64
  010000d4  svc  #0
  a00f80d2  mov  x0, #125
  c80b80d2  mov  x8, #94
  010000d4  svc  #0`;

/** The table follows at its end. */
export function machineCode(architecture: Architecture): Buffer {
  const listing = architecture === 'x64' ? X64 : ARM64;
  const bytes = [...listing.matchAll(/^ {2}([0-9a-f]+) /gm)].map(([, hex = '']) => hex).join('');
  return Buffer.concat([Buffer.from(bytes, 'hex'), Buffer.from(MESSAGE)]);
}
