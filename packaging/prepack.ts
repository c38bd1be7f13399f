/**
 * Before `npm pack` and `npm publish` of the package in the current directory: builds it, and puts what is published in
 * place of its package.json until postpack.ts puts that back.
 */
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackage } from './build.ts';
import { toPublished } from './manifest.ts';
import { LICENSE, restoreSource, SOURCE_MANIFEST } from './source-manifest.ts';

const directory = process.cwd();
// An earlier pack may have been interrupted.
if (existsSync(join(directory, SOURCE_MANIFEST))) restoreSource(directory);

buildPackage(directory);
const manifest = join(directory, 'package.json');
copyFileSync(manifest, join(directory, SOURCE_MANIFEST));
copyFileSync(new URL('../LICENSE', import.meta.url), join(directory, LICENSE));
writeFileSync(
  manifest,
  `${JSON.stringify(toPublished(JSON.parse(readFileSync(manifest, 'utf8'))), null, 2)}\n`,
);
