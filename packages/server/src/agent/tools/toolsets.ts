/** The built-in tools in groups, under Hermes's names; a test compares them with the existing tools. */

export const TOOLSETS = [
  {
    name: 'terminal',
    label: 'Terminal & Processes',
    description: 'Run commands in the sandbox of the run, also in the background',
    tools: ['process', 'terminal'],
  },
  {
    name: 'file',
    label: 'File Operations',
    description: 'Read, write, search and patch the files of the run',
    tools: ['patch', 'read_file', 'search_files', 'write_file'],
  },
  {
    name: 'todo',
    label: 'Task Planning',
    description: 'Keep a plan that survives a restart',
    tools: ['todo'],
  },
] as const;
