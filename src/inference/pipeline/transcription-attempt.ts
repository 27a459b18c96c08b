import { randomBytes } from 'node:crypto';
import { FailureError } from '../../kernel/failure.ts';
import { AudioFault } from '../audio/audio-fault.ts';
import { gemini } from '../dialects/gemini/index.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { transcriptionDialects } from '../dialects/transcription/index.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { TranscriptionRequest } from '../neutral/transcript.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import { askTranscriptionEngine } from './ask-transcription-engine.ts';
import { Attempt } from './attempt.ts';
import type { Job, PreparedBody } from './job.ts';
import { transcriptReader } from './read-transcript.ts';
import { recordAttempt } from './record-attempt.ts';
import type { Services } from './services.ts';
import type { TranscriptionPlan } from './transcription-way.ts';
import { uploadOf } from './upload-body.ts';
import type { SoundToSend, UploadedSound } from './uploaded-sound.ts';
import { typeOfTranscript } from './write-transcript.ts';

/** What is to be written down, and by whom how. */
export interface TranscriptionRun {
  request: TranscriptionRequest;
  sound: UploadedSound;
  plans: ReadonlyMap<Target, TranscriptionPlan>;
}

type AttemptServices = Pick<Services, 'clock' | 'transport'>;

/** One try at one target, engine or upstream; the file is read again for each. */
export async function transcribeAt(
  services: AttemptServices,
  job: Job,
  run: TranscriptionRun,
  attempt: RouteAttempt,
  route: Route,
): Promise<Fault | null> {
  const plan = run.plans.get(attempt.target)!;
  if (plan.kind === 'engine') return askTranscriptionEngine(services, job, run, plan.engine, attempt, route);
  const sound = await soundFor(services, job, run.sound, plan);
  if ('class' in sound) {
    const nothing = { status: null, bytes: 0, firstTokenMs: null, reader: null };
    recordAttempt(job, attempt, nothing, sound, services.clock.monotonicMs());
    return sound;
  }
  return new Attempt(services, job, route, attempt, prepared(job, run, plan, attempt.target, sound)).run();
}

type UpstreamPlan = Extract<TranscriptionPlan, { kind: 'upstream' }>;

/** Converting takes a while: it ends when the caller leaves or the deadline comes. */
async function soundFor(
  { clock }: Pick<Services, 'clock'>,
  { caller, deadlineMs }: Job,
  sound: UploadedSound,
  { sendAs, facts }: UpstreamPlan,
): Promise<SoundToSend | Fault> {
  const stop = () => sound.stop();
  const deadline = setTimeout(stop, Math.max(0, deadlineMs - clock.monotonicMs()));
  caller.onGone(stop);
  try {
    const sent = await sound.as(sendAs);
    const { fileBytesMax } = facts;
    if (fileBytesMax === undefined || sent.bytes <= fileBytesMax) return sent;
    const mb = Math.floor(fileBytesMax / 1024 / 1024);
    return fault('not_capable', `a file of this length: it takes at most ${mb} MB`);
  } catch (error) {
    if (caller.gone) return fault('cancelled', 'the caller closed the connection');
    if (deadlineMs <= clock.monotonicMs() + 1) return fault('deadline', 'the deadline passed');
    return faultOfConversion(error);
  } finally {
    clearTimeout(deadline);
  }
}

/** Sound that cannot be read is its sender's fault; trouble of our own says nothing against a target. */
function faultOfConversion(error: unknown): Fault {
  if (error instanceof AudioFault) {
    if (error.reason === 'crashed' || error.reason === 'stalled')
      return fault('gateway_fault', `the audio ${error.message}`);
    return { ...fault('caller_fault', `the audio ${error.message}`, 400), param: 'file' };
  }
  if (error instanceof FailureError && 'message' in error.failure) return fault('gateway_fault', error.failure.message);
  throw error;
}

function prepared(
  job: Job,
  { request }: TranscriptionRun,
  { facts }: UpstreamPlan,
  target: Target,
  sound: SoundToSend,
): PreparedBody {
  const { connection } = job.providers.get(target.provider)!;
  const dialect = transcriptionDialects[facts.format];
  const streamed = request.stream && target.stream && facts.streams?.test(target.model) === true;
  const { path, contentType, pieces, losses } = dialect.encode({
    model: target.model,
    request,
    file: { extension: sound.extension, mime: sound.mime },
    facts,
    apiVersion: connection.apiVersion,
    stream: streamed,
    body: target.body,
    boundary: `culvert-${randomBytes(16).toString('hex')}`,
  });
  return {
    bytes: '',
    upload: { ...uploadOf(pieces, sound), contentType },
    losses,
    answer:
      facts.format === 'openai' && (request.stream ? streamed : request.format === 'json')
        ? 'pass-through'
        : 'converted',
    unwrapTool: undefined,
    streamed,
    upstreamDialect: connection.provider.dialect === 'gemini' ? gemini : openAiChat,
    path,
    answerReader: (answerType) => transcriptReader(dialect, request, answerType),
    ...(!request.stream && { answerType: typeOfTranscript[request.format] }),
  };
}
