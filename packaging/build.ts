/**
 * Builds a package into its `dist`: JavaScript and declarations beside each other, with the settings of its
 * tsconfig.build.json. The other packages it imports are compiled along and left out.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TSC = fileURLToPath(import.meta.resolve('typescript/package.json')).replace('package.json', 'bin/tsc');

export function buildPackage(directory: string): void {
  const output = mkdtempSync(join(directory, '.build-'));
  try {
    const project = join(directory, 'tsconfig.build.json');
    execFileSync(process.execPath, [TSC, '-p', project, '--outDir', output], { stdio: 'inherit' });
    const dist = join(directory, 'dist');
    rmSync(dist, { recursive: true, force: true });
    cpSync(join(output, basename(directory), 'src'), dist, { recursive: true });
    for (const file of globSync('**/*.d.ts', { cwd: dist })) renameImports(join(dist, file));
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** The compiler renames the imports of what runs, but not those of declarations. */
function renameImports(file: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace(/((?:from|import\() *['"]\.{1,2}\/[^'"]+)\.ts(['"])/g, '$1.js$2'));
}
