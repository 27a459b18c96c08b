import { isObject, type JsonValue } from '../../../kernel/json.ts';
import type { UpstreamError } from '../dialect.ts';

const messageCharsMax = 2_000;

/**
 * The error in an answer's body, in any of the shapes that servers of this format use: OpenAI's `{error: {…}}`,
 * a bare string under `error` (Ollama, llama.cpp), Mistral's and vLLM's `{object: "error", message}`, FastAPI's
 * `{detail}`, Google's array of one. Null when there is none.
 */
export function readError(body: unknown): UpstreamError | null {
  if (Array.isArray(body)) return body.length > 0 ? readError(body[0]) : null;
  if (!isObject(body)) return null;
  const { error } = body;
  if (typeof error === 'string' && error !== '') return { message: cut(error), code: codeOf(body.code), param: null };
  if (isObject(error)) {
    return {
      message: cut(textOf(error.message) ?? textOf(error.detail) ?? 'an error without a message'),
      // `code` may be the HTTP status again; a word beside it says more.
      code: wordIn(error.code) ?? wordIn(error.type) ?? wordIn(error.status) ?? codeOf(error.code),
      param: typeof error.param === 'string' ? error.param : null,
    };
  }
  if (Array.isArray(body.choices)) return null;
  if (body.object === 'error' || (typeof body.message === 'string' && body.choices === undefined)) {
    return {
      message: cut(textOf(body.message) ?? 'an error without a message'),
      code: wordIn(body.code) ?? wordIn(body.type) ?? codeOf(body.code),
      param: typeof body.param === 'string' ? body.param : null,
    };
  }
  const detail = textOf(body.detail) ?? textOf(body.errors);
  return detail === null ? null : { message: cut(detail), code: '', param: null };
}

function wordIn(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' && !/^\d+$/.test(value) ? value : null;
}

function codeOf(value: JsonValue | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function textOf(value: JsonValue | undefined): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  if (Array.isArray(value)) return value.length > 0 ? textOf(value[0]) : null;
  if (isObject(value)) return textOf(value.msg) ?? textOf(value.message) ?? textOf(value.detail);
  return null;
}

function cut(text: string): string {
  return text.length > messageCharsMax ? `${text.slice(0, messageCharsMax)}…` : text;
}
