/** Whether Modal's SDK is there. It has a lockfile of its own, so that `npm ci` of the project stays small. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MODAL_SDK } from '../../../packages/sandbox/src/modal/modal-sdk.ts';

const file = new URL('node_modules/modal/package.json', import.meta.url);
const installed = existsSync(file);

test.skipIf(!installed)(
  `the version of Modal's SDK is the one that users are told to install${installed ? '' : ' (skipped: run "npm run modal:install")'}`,
  () => {
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
    expect(`modal@${version}`).toBe(MODAL_SDK);
  },
);
