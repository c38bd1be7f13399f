/** The tools of a sandbox: names, schemas, descriptions and checks, without the code that runs them. */
export { bash, terminal } from './bash.ts';
export { InvalidArguments } from './check-arguments.ts';
export { defineTool, parametersOf, type ToolDefinition, wrongCall } from './define-tool.ts';
export { readFile, writeFile } from './files.ts';
export { patch } from './patch.ts';
export { inputOf, process } from './process.ts';
export { type ArgumentsOf, NOT_BLANK, type ObjectSchema } from './schema.ts';
export { searchFiles } from './search-files.ts';
