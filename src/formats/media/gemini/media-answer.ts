import { isObject, type JsonObject, type JsonValue, objectsIn } from '../../../kernel/json.ts';

/** Sound as Google's models give it: 16 bits a sample, low byte first, mono. */
const soundType = 'audio/L16;codec=pcm;rate=24000';

/** One answer, or one event of a stream, that holds media. `end`: nothing follows. */
export function mediaAnswer(
  parts: readonly JsonObject[],
  model: string,
  end: { usage: JsonValue | undefined } | null,
): JsonObject {
  const candidate = { content: { role: 'model', parts: [...parts] }, index: 0 };
  return {
    candidates: [end === null ? candidate : { ...candidate, finishReason: 'STOP' }],
    ...(end !== null && isObject(end.usage) && { usageMetadata: usageOf(end.usage) }),
    modelVersion: model,
  };
}

export function soundPart(base64: string): JsonObject {
  return { inlineData: { mimeType: soundType, data: base64 } };
}

/** Pictures of an OpenAI answer, each with its type. */
export function picturesIn({ data }: JsonObject): { mimeType: string; base64: string }[] {
  return objectsIn(data).flatMap(({ b64_json: base64 }) =>
    typeof base64 === 'string' ? [{ mimeType: typeOf(base64), base64 }] : [],
  );
}

/** The answer to `:predict`. */
export function predictions(answer: JsonObject): JsonObject {
  return { predictions: picturesIn(answer).map(({ mimeType, base64 }) => ({ mimeType, bytesBase64Encoded: base64 })) };
}

function typeOf(base64: string): string {
  if (base64.startsWith('/9j/')) return 'image/jpeg';
  if (base64.startsWith('UklGR')) return 'image/webp';
  return base64.startsWith('R0lGOD') ? 'image/gif' : 'image/png';
}

/** `usage` as OpenAI tells it. */
function usageOf({ input_tokens: input, output_tokens: output }: JsonObject): JsonObject {
  const [promptTokenCount, candidatesTokenCount] = [Number(input ?? 0), Number(output ?? 0)];
  return { promptTokenCount, candidatesTokenCount, totalTokenCount: promptTokenCount + candidatesTokenCount };
}
