/** The labels and the name of a container as tags of a sandbox, which may not take every character, and back. */
const NAME = 'talaria-name';
const PLAIN = /^[A-Za-z0-9-]+$/;

export function tagsOf(name: string, labels: Readonly<Record<string, string>>): Record<string, string> {
  return { [NAME]: name, ...labelTags(labels) };
}

export function labelTags(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).map(([label, value]) => [label.replaceAll('.', '-'), encode(value)]),
  );
}

/** Undefined if the tags are not of a sandbox of ours. */
export function labelled(
  tags: Readonly<Record<string, string>>,
): { name: string; labels: Record<string, string> } | undefined {
  const { [NAME]: name, ...others } = tags;
  if (name === undefined) return undefined;
  const labels = Object.entries(others).map(([tag, value]) => [tag.replaceAll('-', '.'), decode(value)]);
  return { name, labels: Object.fromEntries(labels) };
}

function encode(value: string): string {
  return PLAIN.test(value) ? value : `_${Buffer.from(value).toString('base64url')}`;
}

function decode(value: string): string {
  return value.startsWith('_') ? Buffer.from(value.slice(1), 'base64url').toString() : value;
}
