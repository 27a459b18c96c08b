/** `culvert-gateway/formats`: the wire formats alone. Pure: no sockets, no clock, no settings of the process. */
export { convertAnswer } from './formats/convert-answer.ts';
export { convertError } from './formats/convert-error.ts';
export { convertRequest } from './formats/convert-request.ts';
export { asTransformStream, convertStream } from './formats/convert-stream.ts';
export { FormatError } from './formats/format-error.ts';
export { callerFormats, providerFormats } from './formats/format-names.ts';
export type {
  AnswerFacts,
  AnswerOptions,
  Body,
  CallerFormat,
  ConvertedAnswer,
  ConvertedRequest,
  Dropped,
  ErrorOptions,
  FormatErrorFacts,
  ProviderFormat,
  RequestOptions,
  StreamConverter,
  StreamOptions,
} from './formats/types.ts';
