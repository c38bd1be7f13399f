/** How a file is shown, by its name. What is shown as text never runs; images are the kinds that cannot hold script. */

export type FileKind = 'text' | 'markdown' | 'csv' | 'tsv' | 'image' | 'other';

/** Without SVG, which is a document with scripts: it is shown as text. */
const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
};

const BINARY = new Set(
  'zip gz tgz bz2 xz zst 7z tar pdf exe bin so o a wasm class jar pyc sqlite db woff woff2 ttf mp3 mp4 mov webm'.split(
    ' ',
  ),
);

export function endingOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? '' : name.slice(dot + 1).toLowerCase();
}

export function kindOf(path: string): FileKind {
  const ending = endingOf(path);
  if (Object.hasOwn(IMAGES, ending)) return 'image';
  if (ending === 'md' || ending === 'markdown') return 'markdown';
  if (ending === 'csv' || ending === 'tsv') return ending;
  return BINARY.has(ending) ? 'other' : 'text';
}

export function imageType(path: string): string {
  return IMAGES[endingOf(path)] ?? 'application/octet-stream';
}
