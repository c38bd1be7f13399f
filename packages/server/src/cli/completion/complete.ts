/**
 * `talaria __complete <words>`: what the shell scripts call. One line for each candidate, with its description after a
 * tab; `:files` if the shell should complete files. It never reports errors: nothing is worse in the middle of typing.
 */
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import { exitCodes } from '../exit-codes.ts';
import { describeRun } from '../runs/describe-run.ts';
import { callLine } from '../runs/pending-call.ts';
import type { Terminal } from '../terminal.ts';
import { safeLine } from '../text/safe-text.ts';
import { age } from '../text/time.ts';
import { fit } from '../text/width.ts';
import { type Candidate, completionOf } from './candidates.ts';

/** Somebody is waiting with a finger on the key. */
const ANSWER_MS = 1_500;
const IDS_MAX = 50;
const ABOUT_COLUMNS = 60;

export async function complete(typed: readonly string[], terminal: Terminal): Promise<number> {
  const words = joinEquals(typed);
  const completion = completionOf(words);
  if (completion.kind === 'files') {
    terminal.out(':files');
    return exitCodes.ok;
  }
  const current = words.at(-1) ?? '';
  const candidates = await candidatesOf(completion, words, terminal);
  const lines = candidates
    .filter(({ word }) => word.startsWith(current))
    .map(({ word, about }) => (about === '' ? word : `${word}\t${fit(safeLine(about), ABOUT_COLUMNS)}`));
  if (lines.length > 0) terminal.out(lines.join('\n'));
  return exitCodes.ok;
}

async function candidatesOf(
  completion: Exclude<ReturnType<typeof completionOf>, { kind: 'files' }>,
  words: readonly string[],
  terminal: Terminal,
): Promise<readonly Candidate[]> {
  if (completion.kind === 'words') return completion.words;
  if (completion.kind === 'settings') return [...completion.words, ...(await settingFlags())];
  try {
    return await ids(completion.of, words, terminal);
  } catch {
    return [];
  }
}

async function ids(
  of: 'run' | 'job' | 'call' | 'session' | 'upload',
  words: readonly string[],
  terminal: Terminal,
): Promise<Candidate[]> {
  const flag = words.indexOf('--server');
  const client = connect({ server: flag < 0 ? undefined : words[flag + 1] }, terminal);
  if (of === 'job') {
    const jobs = await client.jobs.list({ include_disabled: true }, { timeout: ANSWER_MS });
    return jobs.map(({ id, name }) => ({ word: safeLine(id), about: name }));
  }
  if (of === 'upload') {
    const { data } = await client.files.list({ limit: IDS_MAX }, { timeout: ANSWER_MS });
    return data.map(({ id, filename }) => ({ word: safeLine(id), about: filename }));
  }
  if (of === 'call') {
    const run = words.slice(1).find((word) => !word.startsWith('-')) ?? '';
    const { pending_calls = [] } = await client.runs.get(await findRun(client, run), { timeout: ANSWER_MS });
    return pending_calls.map((call) => ({ word: safeLine(call.tool_call_id), about: callLine(call) }));
  }
  const { data } = await client.runs.list({ limit: IDS_MAX }, { timeout: ANSWER_MS });
  if (of === 'session') {
    const sessions = data
      .filter((run) => run.session_id !== run.run_id)
      .map((run) => safeLine(run.session_id));
    return [...new Set(sessions)].map((word) => ({ word, about: '' }));
  }
  return data.map((run) => ({
    word: safeLine(run.run_id),
    about: `${run.status}, ${age(run.created_at)} ago: ${describeRun(run)}`,
  }));
}

async function settingFlags(): Promise<Candidate[]> {
  const { flagOf, settingList } = await import('../../config/settings.ts');
  return settingList.map(([, setting]) => ({ word: `--${flagOf(setting)}`, about: setting.about }));
}

/** bash splits `--format=tar` into three words. */
function joinEquals(words: readonly string[]): string[] {
  return words.filter((word, index) => !(word === '=' && words[index - 1]?.startsWith('--')));
}
