import type { JsonObject } from '../../src/kernel/json.ts';
import { isObject } from '../../src/kernel/json.ts';
import { chatSpeech } from '../../src/simulator/endpoints/speak-chat.ts';
import { plainPrompt } from '../../src/simulator/endpoints/speak-completions.ts';
import { isSide, picturesOf, sideWords } from '../../src/simulator/endpoints/speak-images.ts';
import type { ErrorWords, Speech } from '../../src/simulator/endpoints/speech.ts';
import type { FaultSpec } from '../../src/simulator/faults/fault-spec.ts';
import type { Prompt, Refusal } from '../../src/simulator/prompt.ts';
import { geminiSpeech } from './speak-gemini.ts';

const sideDefault = 1_024;
const a1111SideDefault = 512;
const picturesMax = 16;

/** Images in base64, all at once, whatever the dialect. */
const wholeBase64 = {
  frames: function* () {},
  introFrames: () => 0,
  finalParts: [],
  requestIdHeader: 'x-request-id',
} as const satisfies Partial<Speech>;

/** `/sdapi/v1/txt2img` and `img2img` of Stable Diffusion web UI, Forge and sd-server. */
export const a1111Speech: Speech = {
  ...wholeBase64,
  read: ({ prompt, width, height, batch_size, override_settings: settings }) =>
    drawn({
      model: isObject(settings) ? String(settings.sd_model_checkpoint) : 'default',
      prompt,
      count: batch_size ?? 1,
      width: width ?? a1111SideDefault,
      height: height ?? a1111SideDefault,
    }),
  whole: (_answer, prompt, spec) => {
    const { width = 0, height = 0 } = prompt.drawn ?? {};
    const parameters = { prompt: prompt.lastUserText, width, height };
    return JSON.stringify({ images: base64Of(prompt, spec), parameters, info: JSON.stringify(parameters) });
  },
  errorBody: fastApiError,
  errorFrame: (words) => `data: ${fastApiError(words)}\n\n`,
};

/** `:predict` of Google's Imagen. */
export const imagenSpeech: Speech = {
  ...wholeBase64,
  read({ instances, parameters }, pathModel) {
    const [first] = Array.isArray(instances) ? instances : [];
    return drawn({
      model: pathModel ?? '',
      prompt: isObject(first) ? first.prompt : undefined,
      count: isObject(parameters) ? (parameters.sampleCount ?? 1) : 1,
      width: sideDefault,
      height: sideDefault,
    });
  },
  whole: (_answer, prompt, spec) =>
    JSON.stringify({
      predictions: base64Of(prompt, spec).map((picture) => ({ mimeType: 'image/png', bytesBase64Encoded: picture })),
    }),
  errorBody: geminiSpeech.errorBody,
  errorFrame: geminiSpeech.errorFrame,
};

/** Fireworks' workflows, one image a call. */
export const fireworksImageSpeech: Speech = {
  ...wholeBase64,
  read: ({ prompt }, pathModel) =>
    drawn({ model: pathModel ?? '', prompt, count: 1, width: sideDefault, height: sideDefault }),
  whole: ({ serial }, prompt, spec) =>
    JSON.stringify({ id: `sim${serial}`, seed: 1, finishReason: 'SUCCESS', base64: base64Of(prompt, spec) }),
  errorBody: chatSpeech.errorBody,
  errorFrame: chatSpeech.errorFrame,
};

interface PictureWish {
  model: string;
  prompt: unknown;
  count: unknown;
  width: unknown;
  height: unknown;
}

function drawn({ model, prompt, ...wish }: PictureWish): Prompt | Refusal {
  const { count, width, height } = {
    count: Number(wish.count),
    width: Number(wish.width),
    height: Number(wish.height),
  };
  if (typeof prompt !== 'string' || prompt === '') return { refused: "'prompt' is missing.", param: 'prompt' };
  if (!(Number.isInteger(count) && count >= 1 && count <= picturesMax)) {
    return { refused: `It makes 1 to ${picturesMax} pictures a call.`, param: null };
  }
  if (!isSide(width) || !isSide(height)) return { refused: `Its sides are ${sideWords}.`, param: 'width' };
  return { ...plainPrompt(model, prompt), drawn: { count, width, height, form: 'base64', partials: 0 } };
}

function base64Of(prompt: Prompt, spec: FaultSpec): string[] {
  return picturesOf(prompt, spec).map((picture) => picture.toString('base64'));
}

function fastApiError({ message, status }: ErrorWords): string {
  const body: JsonObject = { error: status < 500 ? 'ValidationError' : 'RuntimeError', detail: message, errors: '' };
  return JSON.stringify(body);
}
