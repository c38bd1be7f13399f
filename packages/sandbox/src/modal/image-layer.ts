/**
 * The layer that makes a sandbox's image of any image with glibc: Node, the program inside and its directories. Pure: out
 * come the commands of a Dockerfile. Modal builds a layer once and finds it again by these commands.
 */
import { gzipSync } from 'node:zlib';

/** The paths in a sandbox of the layer's files, and of the directories of its server. */
export const INSIDE = {
  node: '/talaria/node',
  package: '/talaria/sandbox',
  run: '/talaria/run',
  workspaces: '/talaria/workspaces',
} as const;

/** The directories of temporary files; an image may lack them. */
export const TMP_DIRS = ['/tmp', '/var/tmp'];

/** The packed JavaScript needs this version of Node. */
const NODE_IMAGE = 'node:24-bookworm-slim';
/** Builders take lines of less than 64 KB. */
const LINE_BYTES = 60_000;
const PACKED = '/talaria/packed';
/** Without quotes of either kind, which a shell and a Dockerfile would take for theirs. */
const UNPACK = `
const fs = require(${'`fs`'}), path = require(${'`path`'}), [packed, to] = process.argv.slice(1);
const bytes = Buffer.from(fs.readFileSync(packed, ${'`latin1`'}), ${'`base64`'});
for (const [name, text] of Object.entries(JSON.parse(require(${'`zlib`'}).gunzipSync(bytes)))) {
  const file = path.join(to, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}
fs.rmSync(packed);
`.replaceAll(/\s+/g, ' ');

export function imageLayer(files: Readonly<Record<string, string>>): string[] {
  const packed = gzipSync(JSON.stringify(files)).toString('base64');
  const lines = packed.match(new RegExp(`.{1,${LINE_BYTES}}`, 'g')) ?? [];
  return [
    `COPY --from=${NODE_IMAGE} /usr/local/bin/node ${INSIDE.node}`,
    `RUN mkdir -p ${[INSIDE.run, INSIDE.workspaces, ...TMP_DIRS].join(' ')}`,
    ...lines.map((line) => `RUN printf %s ${line} >> ${PACKED}`),
    `RUN ${INSIDE.node} -e '${UNPACK}' ${PACKED} ${INSIDE.package}`,
  ];
}
