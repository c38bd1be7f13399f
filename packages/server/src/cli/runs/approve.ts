/**
 * `talaria approve`: answers an approval request of a run. The answer names the request that was looked up, so it
 * cannot reach another one, and the command prints what it answered.
 */
import type { ApprovalChoice, Run } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import { CommandError } from '../command-error.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { ApprovalPrompt } from '../screen/approval-prompt.ts';
import { openKeyboard } from '../screen/keyboard.ts';
import { LiveScreen } from '../screen/live-screen.ts';
import { PlainScreen } from '../screen/plain-screen.ts';
import type { Terminal } from '../terminal.ts';
import { safeCommandLine, safeJson } from '../text/safe-text.ts';
import { UsageError } from '../usage-error.ts';
import { answeredLine, type Question, questionLines } from './approval-question.ts';

export async function approve(args: Arguments<'approve'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const question = pendingQuestion(await client.runs.get(runId), args.request);
  if (args.message !== undefined && args.choice !== 'deny') {
    throw new UsageError('--message goes with deny: it tells the model why');
  }
  const choice = args.choice ?? (await ask(question, terminal));
  const { request_id } = question;
  const answer = await client.runs.respondApproval(runId, {
    choice,
    ...(request_id === undefined ? {} : { request_id }),
    ...(args.all ? { all: true } : {}),
    ...(args.message === undefined ? {} : { message: args.message }),
  });
  if (args.json) {
    terminal.out(safeJson(answer, 2));
  } else {
    const more = answer.resolved > 1 ? ` and ${answer.resolved - 1} behind it` : '';
    const line = `${answeredLine(choice, terminal.stdout.style)}: ${safeCommandLine(question.command ?? '')}${more}`;
    terminal.out(line);
  }
  return exitCodes.ok;
}

function pendingQuestion({ approval, run_id, status }: Run, wanted: string | undefined): Question {
  if (approval !== undefined && (wanted === undefined || wanted === approval.request_id)) return approval;
  if (approval !== undefined) throw new CommandError(`${run_id} no longer asks ${wanted}`);
  // Servers of the older dialect say that a run waits, but not for what.
  if (status === 'waiting_for_approval') return wanted === undefined ? {} : { request_id: wanted };
  throw new CommandError(`${run_id} asks nothing: it is ${status}`);
}

async function ask(question: Question, terminal: Terminal): Promise<ApprovalChoice> {
  const keyboard = openKeyboard(terminal);
  if (keyboard === undefined) {
    throw new UsageError('there is no terminal to ask on; give the answer: once, session, always or deny');
  }
  const output = terminal.stderr.isTerminal ? terminal.stderr : terminal.stdout;
  using screen = output.canRedraw ? new LiveScreen(output) : new PlainScreen(output);
  const prompt = new ApprovalPrompt(screen, keyboard, output.style);
  screen.setFooter(() => prompt.rows());
  for (const line of questionLines(question, output.columns, output.style)) screen.line(line);
  const interrupted = new AbortController();
  const onInterrupt = (): void => interrupted.abort();
  process.on('SIGINT', onInterrupt);
  try {
    const choice = await prompt.ask(question, interrupted.signal);
    if (choice !== undefined) return choice;
    throw new CommandError('Nothing was answered', exitCodes.interrupted);
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}
