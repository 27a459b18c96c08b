import { type Failure, invalid } from '../../kernel/failure.ts';
import { usdOf } from '../../metering/price.ts';
import type { SpooledFile } from '../../net/spool.ts';
import { sniffAudio, sniffBytesNeeded } from '../audio/sniff.ts';
import { needsTimes } from '../dialects/transcription/format.ts';
import { readTranscriptionRequest } from '../dialects/transcription/read-request.ts';
import type { TranscriptionRequest, TranscriptionTask } from '../neutral/transcript.ts';
import { costHeaders } from './answer-headers.ts';
import { TranscriptionEngineTrial } from './ask-transcription-engine.ts';
import type { ConversationFacts } from './conversation-body.ts';
import { contentOfForm, type UploadedForm } from './form-content.ts';
import type { Job } from './job.ts';
import { claimOf, jobOf, type ModelCall, settleCall } from './model-call.ts';
import { plainFacts, plainQuery } from './plain-request.ts';
import { runAttempts } from './run-attempts.ts';
import type { Services } from './services.ts';
import { refuse } from './sink.ts';
import { type TranscriptionRun, TranscriptionTrial } from './transcription-attempt.ts';
import { transcriptionWay } from './transcription-way.ts';
import { createUploadedSound, type UploadedSound } from './uploaded-sound.ts';

/**
 * The way of a request for a transcript; routed and metered like a conversation. Ends the caller's answer in every case;
 * the form's own file is its receiver's to remove.
 */
export async function runTranscription(
  services: Services,
  call: Omit<ModelCall, 'body'>,
  form: UploadedForm,
): Promise<void> {
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const task: TranscriptionTask = call.endpoint === 'translation' ? 'translate' : 'transcribe';
  const read = readTranscriptionRequest(form.fields, task);
  if (!read.ok) return refused(read.failure);
  const file = fileOf(form);
  if ('kind' in file) return refused(file);
  const sniffed = sniffAudio(await file.head(sniffBytesNeeded));
  if (sniffed === null) return refused(notAudio(file.bytes));

  const sound = createUploadedSound({ transcoder: services.transcoder.of(call.principal.tenant) }, file, sniffed);
  try {
    await runOnce(services, call, read.value, form, sound);
  } finally {
    await sound.release();
  }
}

/** Under its Idempotency-Key if it has one; a stream is run whatever that says. */
async function runOnce(
  services: Services,
  call: Omit<ModelCall, 'body'>,
  request: TranscriptionRequest,
  form: UploadedForm,
  sound: UploadedSound,
): Promise<void> {
  const { idempotencyKey: key, sink, endpoint, requestId } = call;
  if (key === null || request.stream) return runRead(services, { ...call, body: noBody }, request, sound);
  const { tenant } = call.principal;
  const body = await contentOfForm(form);
  const keyed = { key, tenant, endpoint, requestId, body, sink, headers: call.admitted.headers };
  await services.idempotency.once(keyed, (kept) =>
    runRead(services, { ...call, body, client: kept, sink: kept }, request, sound),
  );
}

/** From the model on. */
async function runRead(
  services: Services,
  call: ModelCall,
  request: TranscriptionRequest,
  sound: UploadedSound,
): Promise<void> {
  const snapshot = services.snapshot();
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const facts = factsOf(request, sound);
  const way = transcriptionWay(services, snapshot, request, facts.needs, sound, call.principal);
  if ('kind' in way) return refused(way);
  const { alias, plans } = way;

  const claim = claimOf(call, snapshot, alias, alias, facts);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refused(reserved);

  const query = plainQuery(way, facts, call.wishes, call.principal.tenant);
  const run: TranscriptionRun = { request, sound, plans };
  const job = jobOf(services, snapshot, call, facts, alias, query, reserved, {
    trial(job, answer) {
      const plan = plans.get(answer.attempt.target)!;
      return plan.kind === 'engine'
        ? new TranscriptionEngineTrial(services, job, run, plan.engine, answer)
        : new TranscriptionTrial(services, job, run, plan, answer);
    },
  });
  try {
    if (request.stream) call.delivery.expect(costHeaders(job));
    await foresee(request, sound);
    await runAttempts(services, job);
    await measure(job, sound);
  } finally {
    settleCall(services, call, claim, reserved, job);
  }
}

/**
 * How long the sound is is found out while somebody writes it down, unless that one will say: a caller who has the
 * answer finds it in the books. Of a wav, it is a look at its first bytes.
 */
async function foresee(request: TranscriptionRequest, sound: UploadedSound): Promise<void> {
  if (sound.sniffed.container === 'wav') await sound.durationMs();
  else if (!needsTimes(request)) void sound.durationMs();
}

/** How long the sound was, where the one who wrote it down did not say: what is priced by the minute has its price. */
async function measure({ progress }: Job, sound: UploadedSound): Promise<void> {
  const { usage, attempts } = progress;
  if (progress.delivered === 'nothing' || usage === null || usage.audioMs !== undefined) return;
  const durationMs = await sound.durationMs();
  const last = attempts.at(-1);
  if (durationMs === null || last === undefined) return;
  progress.usage = { ...usage, audioMs: Math.round(durationMs) };
  const price = progress.answeredBy?.target.price ?? null;
  attempts[attempts.length - 1] = { ...last, usage: progress.usage, costUsd: usdOf(progress.usage, price) };
}

function fileOf({ files }: UploadedForm): SpooledFile | Failure {
  const [first] = files;
  if (first === undefined) {
    const message = "Missing 'file': send the audio as a file of the form, such as mp3, mp4, wav, webm, ogg or flac.";
    return invalid('file', message);
  }
  if (first.name !== 'file') {
    return invalid('file', `The form's file stands in '${first.name.slice(0, 80)}'; send it as 'file'.`);
  }
  return first.file.bytes === 0 ? invalid('file', "'file' is empty: it has 0 bytes.") : first.file;
}

function notAudio(bytes: number): Failure {
  const message = `'file' is not audio that is known here: its ${bytes} bytes begin like none of mp3, mp4, m4a, wav, webm, ogg, flac, aac, aiff or amr. What the file is called does not matter.`;
  return invalid('file', message);
}

function factsOf(request: TranscriptionRequest, sound: UploadedSound): ConversationFacts {
  const { model, user, timestamps, task, stream } = request;
  return plainFacts(
    { model, user, stream, inputTokensEstimate: 0 },
    { transcription: { timestamps, task, fileBytes: sound.bytes } },
  );
}

const noBody = Buffer.alloc(0);
