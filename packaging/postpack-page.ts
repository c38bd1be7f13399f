/** After `npm pack` and `npm publish` of the web page: the package is again as it was. */
import { rmSync } from 'node:fs';
import { LICENSE } from './source-manifest.ts';

rmSync(LICENSE, { force: true });
