/** A title as it can stand in an address: `Hello, World!` becomes `hello-world`. */
export function slug(title) {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '-')
    .replace(/^-|-$/g, '');
}
