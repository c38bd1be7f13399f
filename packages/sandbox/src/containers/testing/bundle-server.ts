/** The program that makes the bundle of bundled-server.ts: `node bundle-server.ts PACKAGE DIRECTORY`. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const START = `
import { enableCompileCache } from 'node:module';
enableCompileCache(new URL('../../compiled', import.meta.url).pathname);
await import('./main.js');
`;

const [packageDir, directory] = process.argv.slice(2) as [string, string];
const made = `${directory}.${process.pid}`;
await bundle(made);
try {
  renameSync(made, directory);
  // Node finds compiled code by the path of its file.
  compile(directory);
} catch (error) {
  // Another process was faster.
  if (!existsSync(directory)) throw error;
  rmSync(made, { recursive: true, force: true });
}

async function bundle(directory: string): Promise<void> {
  await using build = await rolldown({
    cwd: packageDir,
    input: {
      main: 'src/containers/server/main.ts',
      // Started by its file's name, beside the file that starts it.
      'file-thread-program': 'src/workspace/thread/file-thread-program.ts',
    },
    platform: 'node',
    logLevel: 'warn',
  });
  // As deep as in the package, so that the program finds its version.
  const dir = join(directory, 'src/containers');
  mkdirSync(dir, { recursive: true });
  copyFileSync(join(packageDir, 'package.json'), join(directory, 'package.json'));
  await build.write({ dir, entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  writeFileSync(join(dir, 'start.js'), START);
}

/** Programs that end by themselves leave their compiled code for the containers of tests, which are killed. */
function compile(directory: string): void {
  const run = (program: string, ...args: string[]) =>
    spawnSync(process.execPath, [join(directory, 'src/containers', program), ...args], {
      env: { NODE_COMPILE_CACHE: join(directory, 'compiled') },
    });
  run('start.js', JSON.stringify({ version: 'none' }));
  run('start.js', 'relay', 'missing');
  run('file-thread-program.js');
}
