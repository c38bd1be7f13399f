/**
 * Builds the page into `dist`: `index.html` for the whole of it, and `approve.html`, which is small enough to open at
 * once on a phone. All addresses are relative, because a proxy may serve the page under any path.
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const page = (name: string) => fileURLToPath(new URL(`${name}.html`, import.meta.url));

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  // The dashboard runs where the client does, so it needs what browsers had by the end of 2023.
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    // The content security policy allows no data: addresses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: { input: { index: page('index'), approve: page('approve') } },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  logLevel: 'warn',
});
