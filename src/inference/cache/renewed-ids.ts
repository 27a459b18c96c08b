import type { JsonObject } from '../../kernel/json.ts';

/** Whether an answer is JSON, or events of it; null: its headers name no type. Others are sound or plain text. */
export function isJson(contentType: string | null): boolean {
  return contentType === null || /json|event-stream/.test(contentType);
}

/** The same answer with a new id and a new time, where it has them. */
export function renewed(body: string, requestId: string, nowS: number): string {
  if (!body.slice(0, headChars).includes('"id"') && !body.slice(0, headChars).includes('"created"')) return body;
  if (body.trimStart().startsWith('{')) return renewedJson(body, requestId, nowS);
  const line = (text: string) => dataOf(text).reduce((_, data) => `data: ${renewedJson(data, requestId, nowS)}`, text);
  return body.split('\n').map(line).join('\n');
}

/** The JSON text of a line of a stream: none, or one. */
export function dataOf(line: string): string[] {
  const data = line.startsWith('data:') ? line.slice(5).trim() : '';
  return data === '' || data === '[DONE]' ? [] : [data];
}

/** Answers that have them have them at their beginning. */
const headChars = 1_024;

function renewedJson(text: string, requestId: string, nowS: number): string {
  const value = JSON.parse(text) as JsonObject;
  const id = typeof value.id === 'string' ? { id: `${prefixOf(value.id)}${requestId.slice(4)}` } : {};
  return JSON.stringify({ ...value, ...id, ...(typeof value.created === 'number' && { created: nowS }) });
}

/** `cmpl-` of `cmpl-abc`; '' of an id without one. */
function prefixOf(id: string): string {
  return id.match(/^[a-z]{2,8}[-_]/)?.[0] ?? '';
}
