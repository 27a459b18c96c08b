import type { ImageRequest } from '../src/formats/neutral/image.ts';
import type { TranscriptionRequest } from '../src/formats/neutral/transcript.ts';

/* Requests in their neutral form that ask for nothing special: tests say what they ask for beside. */

export const plainImage: ImageRequest = {
  model: 'alias',
  prompt: 'An otter',
  n: 1,
  size: null,
  quality: null,
  style: null,
  background: null,
  moderation: null,
  outputFormat: null,
  outputCompression: null,
  answerForm: 'url',
  stream: null,
  inputFidelity: null,
  user: null,
  extra: {},
};

export const plainTranscription: TranscriptionRequest = {
  model: 'alias',
  task: 'transcribe',
  language: null,
  prompt: null,
  format: 'json',
  temperature: null,
  timestamps: 'none',
  lists: { segments: false, words: false },
  stream: false,
  include: [],
  user: null,
  extra: [],
};
