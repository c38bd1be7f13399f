/** `talaria run`: starts a run, with files of this machine or in a directory of it if asked to, and follows it, or leaves it alone. */
import type { RunCreated, Talaria } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { CommandError } from '../command-error.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { Interrupted, interruptible } from '../interruptible.ts';
import { readText } from '../read-text.ts';
import type { Terminal } from '../terminal.ts';
import { shownPath } from '../text/shown-path.ts';
import { UsageError } from '../usage-error.ts';
import type { PackedWorkspace } from '../workspace/upload-directory.ts';
import { changesOf } from './changes-of.ts';
import { CREATE_RETRIES, followCreated } from './follow-created.ts';

type RunArguments = Arguments<'run'>;

export async function run(args: RunArguments, terminal: Terminal): Promise<number> {
  checkDirectoryFlags(args);
  const input = await readText(args.prompt, 'the prompt', terminal);
  const client = connect(args, terminal);
  const { dir, mount } = args;
  let created: RunCreated;
  if (dir !== undefined)
    created = await createWithDirectory(client, args, { input, directory: dir }, terminal);
  else if (mount !== undefined) created = await createIn(client, args, { input, directory: mount }, terminal);
  else created = await create(client, args, { input });
  const hasFiles = dir !== undefined || mount !== undefined;
  const changes = hasFiles ? changesOf(client, { directory: dir, server: args.server }, terminal) : undefined;
  return followCreated(client, created, args, terminal, changes);
}

function checkDirectoryFlags(args: RunArguments): void {
  if (args.dir !== undefined && args.mount !== undefined) {
    throw new UsageError('--dir works on a copy and --mount in the directory itself; choose one');
  }
  if (args.dir !== undefined) {
    // Each upload is another file, and with it the request another one.
    if (args['idempotency-key'] !== undefined) {
      throw new UsageError('--idempotency-key does not go with --dir: each upload makes another request');
    }
    return;
  }
  const unused = (['with-git', 'ask-above', 'yes'] as const).find((name) => args[name]);
  if (unused !== undefined) throw new UsageError(`--${unused} goes with --dir`);
}

function create(
  client: Talaria,
  args: RunArguments,
  {
    input,
    workspace,
    signal,
  }: { input: string; workspace?: PackedWorkspace | { directory: string } | undefined; signal?: AbortSignal },
): Promise<RunCreated> {
  const { session: session_id, instructions } = args;
  return client.runs.create(
    { input, session_id, instructions, workspace },
    { maxRetries: CREATE_RETRIES, idempotencyKey: args['idempotency-key'], signal },
  );
}

async function createIn(
  client: Talaria,
  args: RunArguments,
  { input, directory }: { input: string; directory: string },
  terminal: Terminal,
): Promise<RunCreated> {
  const { findMount } = await import('../workspace/find-mount.ts');
  const { name, path, isWhole } = await findMount(client, directory, terminal);
  // More than the user named, so it is said, also with --quiet.
  if (!isWhole)
    terminal.err(`The run works in ${shownPath(path)}, the whole directory that the server allows`);
  return create(client, args, { input, workspace: { directory: name } });
}

async function createWithDirectory(
  client: Talaria,
  args: RunArguments,
  { input, directory }: { input: string; directory: string },
  terminal: Terminal,
): Promise<RunCreated> {
  const { withUploadedDirectory } = await import('../workspace/upload-directory.ts');
  let isUploaded = false;
  const onUploaded = (lines: readonly string[]): void => {
    isUploaded = true;
    if (!args.quiet) for (const line of lines) terminal.err(line);
  };
  try {
    return await interruptible((signal) =>
      withUploadedDirectory(
        client,
        {
          directory,
          withGit: args['with-git'],
          askAboveMb: args['ask-above'],
          yes: args.yes,
          signal,
          onUploaded,
        },
        terminal,
        (workspace) => create(client, args, { input, workspace, signal }),
      ),
    );
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    const known = isUploaded ? 'talaria runs shows whether the run has started' : 'no run was started';
    throw new CommandError(`Interrupted; ${known}`, exitCodes.interrupted);
  }
}
