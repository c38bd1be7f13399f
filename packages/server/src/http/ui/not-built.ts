/** What a browser is shown where the page has not been built, for example after `npm ci --ignore-scripts`. */
export const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Talaria</title>
<h1>The page is not built</h1>
<p>The server works. Only its web page is missing. Build it in the server's directory and reload:</p>
<pre>npm ci
npm run build:ui</pre>
<p>Everything the page shows is also in the API and the command line: <code>talaria --help</code>.</p>
</html>
`;
