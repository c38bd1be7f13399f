/**
 * After `npm ci` in a clone: builds the web page. The server works without it, so nothing that fails here makes the
 * installation fail; the page then says how to build it. With `npm ci --omit=dev` there is no bundler.
 */
import { buildPage } from './build-page.ts';

try {
  buildPage();
} catch (error) {
  console.error(`The web page was not built: ${(error as Error).message.split('\n')[0]}`);
}
