import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { invalidField, plainTable, unknownFields } from '../../dialects/field-table.ts';
import { bodySchema, type Check, type JsonSchema } from '../../neutral/described-check.ts';
import {
  arrayOf,
  boolean,
  byType,
  integerIn,
  members,
  needed,
  numberIn,
  object,
  string,
} from '../../neutral/value-checks.ts';

/** Models of the AI SDK that neither chat nor embed, by the last part of their path. */
export type MediaKind = 'image' | 'speech' | 'transcription' | 'reranking' | 'video';

const filesMax = 16;

const file = byType("an object such as {'type': 'file', 'mediaType': 'image/png', 'data': '…'}", "'file' or 'url'", {
  file: members("an object with 'data'", { data: needed(string, 'base64'), mediaType: string }),
  url: members("an object with 'url'", { url: needed(string, 'an address') }),
});
const frame = members("an object with 'image' and 'frameType'", {
  image: needed(file, 'a picture'),
  frameType: needed(string, "'first_frame' or 'last_frame'"),
});
const documents = byType(
  "an object such as {'type': 'text', 'values': ['…']}",
  "'text' or 'object'",
  Object.fromEntries(
    Object.entries({ text: string, object }).map(([type, item]) => {
      const values = arrayOf(item, 1, Number.POSITIVE_INFINITY, type === 'text' ? 'texts' : 'objects');
      return [type, members("an object with 'values'", { values: needed(values, 'an array of documents') })];
    }),
  ),
);
const seed = integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const count = integerIn(1, Number.MAX_SAFE_INTEGER);

/** Bounds of values are those of the families, which name the field too. */
const fieldsOf: Readonly<Record<MediaKind, Readonly<Record<string, Check>>>> = {
  image: {
    prompt: string,
    n: count,
    size: string,
    aspectRatio: string,
    seed,
    files: arrayOf(file, 1, filesMax - 1, 'pictures'),
    mask: file,
  },
  speech: {
    text: string,
    voice: string,
    outputFormat: string,
    instructions: string,
    speed: numberIn(0.25, 4),
    language: string,
  },
  transcription: { audio: string, mediaType: string },
  reranking: { documents, query: string, topN: count },
  video: {
    prompt: string,
    n: count,
    aspectRatio: string,
    resolution: string,
    duration: numberIn(1, 3_600),
    fps: numberIn(1, 1_000),
    seed,
    generateAudio: boolean,
    image: file,
    frameImages: arrayOf(frame, 0, filesMax, 'frames'),
    inputReferences: arrayOf(file, 0, filesMax, 'files'),
    callbackUrl: string,
  },
};

const requiredOf: Readonly<Record<MediaKind, ReadonlyMap<string, string>>> = {
  image: new Map([['prompt', 'a text that says what to draw']]),
  speech: new Map([['text', 'the text to speak']]),
  transcription: new Map([['audio', 'the sound in base64']]),
  reranking: new Map([
    ['documents', 'an object with type and values'],
    ['query', 'the text that the documents answer'],
  ]),
  video: new Map([['prompt', 'a text that says what to film']]),
};

function tableOf(kind: MediaKind): ReadonlyMap<string, readonly [Check]> {
  return plainTable({ ...fieldsOf[kind], providerOptions: object });
}

/** The first fault of a call's body, which names its field; null when there is none. */
export function invalidMediaField(kind: MediaKind, body: JsonObject): Failure | null {
  return invalidField(tableOf(kind), body, requiredOf[kind]);
}

/** Fields of a body that no version of the call has. */
export function unknownMediaFields(kind: MediaKind, body: JsonObject): string[] {
  return unknownFields(tableOf(kind), body);
}

/** Schema of a call's body for `/openapi.json`. */
export function mediaSchema(kind: MediaKind): JsonSchema {
  return bodySchema(tableOf(kind), requiredOf[kind]);
}

const operationSend = 'the operation that the start of the video answered';
const operationFields = plainTable({
  operation: members(operationSend, { id: needed(string, operationSend) }),
});
const operationRequired = new Map([['operation', operationSend]]);

/** Body that asks for the state of a video. The operation is one that a start of it answered. */
export function videoStatusSchema(): JsonSchema {
  return bodySchema(operationFields, operationRequired);
}

/** Id of the video that such a body names, or the fault that names its field. */
export function operationIn(body: JsonObject): string | Failure {
  return invalidField(operationFields, body, operationRequired) ?? String((body.operation as JsonObject).id);
}
