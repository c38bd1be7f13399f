/** Commands about the files of runs. */
import { defineCommand } from '../command-spec.ts';
import { json, run, seq, server } from './shared.ts';

export const workspaceCommands = {
  diff: defineCommand({
    name: 'diff',
    about: 'show what a run changed in its files',
    details:
      'Prints a unified diff, from the start of the run to now. Paths are relative to the workspace, as in a list of files.',
    positionals: [
      run,
      { name: 'path', optional: true, many: true, about: 'only these files and directories' },
    ],
    options: {
      from: {
        ...seq,
        min: -1,
        about: 'compare with the files as they were after this event; -1: as it began',
      },
      to: { ...seq, min: -1, about: 'show the changes up to this event, and not up to now' },
      stat: { type: 'flag', about: 'list the changed files, and how many lines of each' },
      json,
      server,
    },
    examples: [
      { line: 'talaria diff run_0193c7e8a1b2', about: 'everything it changed' },
      { line: 'talaria diff run_0193c7e8a1b2 --stat src', about: 'the changed files in a directory' },
      { line: 'talaria diff run_0193c7e8a1b2 | git apply -3', about: 'take it with git' },
    ],
  }),
  apply: defineCommand({
    name: 'apply',
    about: 'take what a run changed into a directory',
    details:
      'Compares three states of each file that the run changed: as the run began with it, as the run left it, and as it ' +
      'is here. A file that was changed here, too, is a conflict, and nothing is applied. Doing it again does no harm. ' +
      'For a fork, it takes only what the fork changed: take what came before first, with --to. ' +
      'Links are not followed, and nothing is written into .git.',
    positionals: [run],
    options: {
      dir: {
        type: 'text',
        value: 'directory',
        about: 'where to; default this directory',
        completes: 'file',
      },
      to: { ...seq, about: 'take what it changed up to this event, not all of it' },
      'dry-run': { type: 'flag', short: 'n', about: 'only say what would be done' },
      'keep-mine': {
        type: 'flag',
        about: 'leave files that were changed here as they are, and take the rest',
      },
      json,
      server,
    },
    examples: [
      { line: 'talaria apply run_0193c7e8a1b2 --dry-run', about: 'see what would happen' },
      { line: 'talaria apply run_0193c7e8a1b2', about: 'take it into this directory' },
      { line: 'talaria apply run_0193c7e8a1b2 --to 42', about: 'only up to where a fork of it begins' },
    ],
  }),
  cp: defineCommand({
    name: 'cp',
    about: 'copy files and directories from or to the workspace of a run',
    details:
      'One side is a path of this machine, the other <run>:<path>. Nothing is replaced without --force. A directory from ' +
      'a run arrives as a whole, without its links and without .git. The files of a directory from here are copied one ' +
      'after the other, without what .gitignore names, without .git and without links.',
    positionals: [
      { name: 'from', about: 'what to copy: a path, or <run>:<path>', completes: 'file' },
      { name: 'to', about: 'where to; into a directory that exists, under its own name', completes: 'file' },
    ],
    options: { force: { type: 'flag', short: 'f', about: 'replace what is there' }, json, server },
    examples: [
      { line: 'talaria cp run_0193c7e8a1b2:out/report.pdf .', about: 'to ./report.pdf' },
      { line: 'talaria cp run_0193c7e8a1b2:. result', about: 'the whole workspace' },
      { line: 'talaria cp data.csv run_0193c7e8a1b2:data/', about: 'also while the run works' },
    ],
  }),
  artifactsLs: defineCommand({
    name: 'artifacts ls',
    aliases: ['list'],
    about: "list the files of a run's workspace",
    positionals: [run, { name: 'path', optional: true, about: 'a directory or file; default the workspace' }],
    options: {
      recursive: { type: 'flag', short: 'r', about: 'what is in the directories, too' },
      quiet: { type: 'flag', short: 'q', about: 'print paths only' },
      json,
      server,
    },
    examples: [{ line: 'talaria artifacts ls -r run_0193c7e8a1b2', about: 'everything it left' }],
  }),
  artifactsCat: defineCommand({
    name: 'artifacts cat',
    about: "print a file of a run's workspace",
    details: 'Byte for byte into a file or pipe; on a terminal, control characters are made visible.',
    positionals: [run, { name: 'path', about: 'a file of the workspace' }],
    options: { server },
    examples: [{ line: 'talaria artifacts cat run_0193c7e8a1b2 report.md', about: 'read it here' }],
  }),
  artifactsGet: defineCommand({
    name: 'artifacts get',
    about: "download a file, or a directory as an archive, from a run's workspace",
    details:
      'An interrupted download continues where it was, also when the command is run again. Nothing is overwritten ' +
      'without --force.',
    positionals: [
      run,
      { name: 'path', optional: true, about: 'a file or directory; default the whole workspace' },
    ],
    options: {
      output: {
        type: 'text',
        short: 'o',
        value: 'file',
        about: 'where to; default its name in this directory; - is stdout',
        completes: 'file',
      },
      format: {
        type: 'text',
        value: 'format',
        choices: ['tar.gz', 'tar', 'zip'],
        about: 'of the archive of a directory: tar.gz (default), tar or zip',
      },
      force: { type: 'flag', short: 'f', about: 'replace what is there' },
      json,
      server,
    },
    examples: [
      { line: 'talaria artifacts get run_0193c7e8a1b2 out/report.pdf', about: 'to ./report.pdf' },
      { line: 'talaria artifacts get run_0193c7e8a1b2 -o - | tar xz', about: 'the workspace, unpacked here' },
    ],
  }),
};
