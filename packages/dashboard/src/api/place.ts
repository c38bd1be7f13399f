/** Where the page is: the server writes the way back to `/ui/` into it, so it works under any path of a proxy. */

/** Ends with `/ui/`. */
export const UI_ROOT = new URL('.', document.baseURI);

/** The API's address, without a slash at the end. */
export const API_ROOT = new URL('..', UI_ROOT).href.replace(/\/$/, '');
