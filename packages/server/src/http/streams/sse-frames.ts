/** Server-sent events in OpenAI's manner: without ids, because these streams are not resumed by cursor. */

export function dataFrame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export function namedFrame(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
