/** Before `npm pack` and `npm publish` of the web page: builds it, and adds the license until postpack-page.ts. */
import { copyFileSync } from 'node:fs';
import { buildPage } from './build-page.ts';
import { LICENSE } from './source-manifest.ts';

buildPage();
copyFileSync(new URL('../LICENSE', import.meta.url), LICENSE);
