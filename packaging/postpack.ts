/** After `npm pack` and `npm publish`: the package is again as it was. */
import { restoreSource } from './source-manifest.ts';

restoreSource(process.cwd());
