/** Chromium, if the machine has one, and a page of another origin than the server's that loads the client. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { rolldown } from 'rolldown';

const CLIENT = fileURLToPath(new URL('../../packages/client/src/index.ts', import.meta.url));

/** The first is Chromium without a user interface, which takes a third less of the processor. */
export const CHROMIUM = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync);

/**
 * Of several lists Chromium takes the last one, so this one repeats the features that Playwright disables on Linux. The rest
 * are pages of the address bar, two for each window. Nobody sees them here, and they make a window slow to open.
 */
const DISABLED_FEATURES = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
];

export const FLAGS = [
  `--disable-features=${DISABLED_FEATURES.join(',')}`,
  '--disable-extensions',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The client as one script for browsers. */
async function bundleClient(): Promise<string> {
  await using bundle = await rolldown({ input: CLIENT, platform: 'browser' });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  if (output.length !== 1) throw new Error(`The client is ${output.length} files instead of one`);
  return output[0].code;
}

export interface BrowserPage extends AsyncDisposable {
  origin: string;
  page: Page;
}

/** The page has the client's exports as `client`. It has a browser profile of its own, which is deleted with it. */
export async function openPage(): Promise<BrowserPage> {
  const script = await bundleClient();
  const html = `<!doctype html><script type="module">import * as client from '/client.js'; globalThis.client = client;</script>`;
  const files = createServer((request, response) => {
    const [type, text] = request.url === '/client.js' ? ['text/javascript', script] : ['text/html', html];
    response.writeHead(200, { 'content-type': type }).end(text);
  });
  files.listen(0, '127.0.0.1');
  await once(files, 'listening');
  const origin = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
  const browser = await chromium.launch({ executablePath: CHROMIUM!, args: FLAGS });
  const page = await browser.newPage();
  await page.goto(origin);
  await page.waitForFunction('globalThis.client !== undefined');
  return {
    origin,
    page,
    async [Symbol.asyncDispose]() {
      await browser.close();
      files.closeAllConnections();
      files.close();
    },
  };
}
