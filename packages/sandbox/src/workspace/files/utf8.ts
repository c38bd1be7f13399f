/** Cutting bytes without cutting a UTF-8 character in half. Bytes that are not UTF-8 may be cut anywhere. */

/** How many bytes of the buffer remain without an incomplete character at its end. */
export function completeLength(bytes: Uint8Array): number {
  const end = bytes.length;
  for (let back = 1; back <= Math.min(3, end); back++) {
    const byte = bytes[end - back] as number;
    if (isContinuation(byte)) continue;
    return characterLength(byte) > back ? end - back : end;
  }
  return end;
}

/** How many bytes at the start of the buffer belong to a character that began before it. */
export function continuationLength(bytes: Uint8Array): number {
  let length = 0;
  while (length < Math.min(3, bytes.length) && isContinuation(bytes[length] as number)) length++;
  return length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function characterLength(lead: number): number {
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  return 1;
}
