/**
 * Where a link led and leads, from the patch of its path. In git's form the mode of a link is 120000, and its target is
 * its content, in lines without an end. A link that becomes a file is deleted first, in a section of its own.
 */
export interface PatchedLinks {
  readonly before?: string;
  readonly now?: string;
}

const LINK = '120000';

export function linksInPatch(patch: string): PatchedLinks {
  const sections = patch.split(/^(?=diff --git )/m).map(linksInSection);
  return Object.assign({}, ...sections) as PatchedLinks;
}

function linksInSection(section: string): PatchedLinks {
  const start = /^@@ .*$/m.exec(section)?.index ?? section.length;
  const head = section.slice(0, start);
  const [, ...hunk] = section.slice(start).split('\n');
  const isLink = (name: string): boolean =>
    head.includes(`\n${name} ${LINK}\n`) || new RegExp(`^index \\S+ ${LINK}$`, 'm').test(head);
  const target = (mark: string): string =>
    hunk
      .filter((line) => line.startsWith(mark))
      .map((line) => line.slice(1))
      .join('\n');
  return {
    ...(isLink('old mode') || isLink('deleted file mode') ? { before: target('-') } : {}),
    ...(isLink('new mode') || isLink('new file mode') ? { now: target('+') } : {}),
  };
}
