import { isObject, type JsonObject } from '../../../kernel/json.ts';
import type { ImageFormat } from './format.ts';
import { googleError } from './gemini.ts';
import { fieldsFor, ratioFor, unknownIn } from './losses.ts';
import { malformed, noPicture, pictureIn, refusedContent } from './read-answer.ts';

/** https://ai.google.dev/gemini-api/docs/imagen, `:predict`: fewer pictures come than were asked for when some were filtered. */
export const imagenImages: ImageFormat = {
  id: 'imagen',
  encode(order) {
    const { request, facts, count } = order;
    const { fields, losses } = fieldsFor(order);
    const ratio = ratioFor(facts.sizes, request.size);
    const parameters: JsonObject = { sampleCount: count, includeRaiReason: true };
    if (ratio.ratio !== null) parameters.aspectRatio = ratio.ratio;
    if (fields.output_format !== undefined) {
      const outputOptions: JsonObject = { mimeType: `image/${fields.output_format}` };
      if (fields.output_compression !== undefined) outputOptions.compressionQuality = fields.output_compression;
      parameters.outputOptions = outputOptions;
    }
    return {
      body: { instances: [{ prompt: request.prompt }], parameters },
      losses: [...losses, ...ratio.losses, ...unknownIn(order)],
    };
  },
  decode(body) {
    const error = googleError(body);
    if (error !== null) return error;
    const predictions = isObject(body) && Array.isArray(body.predictions) ? body.predictions.filter(isObject) : null;
    if (predictions === null) return malformed("the answer has no 'predictions'");
    const images = predictions.flatMap((one) => pictureIn(one.bytesBase64Encoded, one.prompt) ?? []);
    if (images.length > 0) return { images, usage: null, reported: {} };
    const reason = predictions.map(({ raiFilteredReason }) => raiFilteredReason).find((one) => typeof one === 'string');
    return reason === undefined ? noPicture : refusedContent(reason);
  },
};
