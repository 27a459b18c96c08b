import { usdOf } from '../../metering/price.ts';
import type { ImageModelFacts, ImageTokens } from '../dialects/images/format.ts';
import type { ImageRequest } from '../neutral/image.ts';
import type { Loss } from '../neutral/loss.ts';
import { type Fault, fault } from '../neutral/outcome.ts';
import type { Usage } from '../neutral/usage.ts';
import type { Route, RouteAttempt } from '../routing/route.ts';
import { answerHeaders } from './answer-headers.ts';
import { Attempt } from './attempt.ts';
import { BatchCaller } from './batch-caller.ts';
import type { HeaderList } from './caller.ts';
import type { ConfiguredProvider } from './connections.ts';
import type { GatheredImage, GatheredImages } from './gathered-images.ts';
import type { PictureForm, ReadImage } from './image-codec.ts';
import type { ImageEdit } from './image-edit.ts';
import { type Job, newProgress, type PreparedBody } from './job.ts';
import { prepareImages } from './prepare-images.ts';
import type { Services } from './services.ts';

/** Calls of one request that run at one time. */
const callsMax = 4;

/** What is to be drawn, and what has been so far. */
export interface ImageRun {
  request: ImageRequest;
  edit: ImageEdit | null;
  gathered: GatheredImages;
  /** Every picture is there: gives the answer out. */
  deliver(headers: HeaderList): Promise<void>;
}

type AttemptServices = Pick<Services, 'clock' | 'transport' | 'imageCodec' | 'pictures'>;

/**
 * One try at one target: as many calls as it needs for the pictures that are missing. What was drawn is kept when a
 * call fails; the rest is for the next target.
 */
export async function drawAt(
  services: AttemptServices,
  job: Job,
  run: ImageRun,
  attempt: RouteAttempt,
  route: Route,
): Promise<Fault | null> {
  const trial = new Trial(services, job, run, attempt, route);
  const ended = await trial.run();
  if (ended === null) {
    job.progress.losses = trial.losses;
    job.progress.answeredBy = attempt;
    try {
      await run.deliver(answerHeaders(job, attempt, trial));
    } catch (error) {
      // Drawn and paid for, though nobody gets it.
      trial.record();
      throw error;
    }
    // Whoever left meanwhile has no answer.
    if (job.caller.gone) trial.failed ??= fault('cancelled', 'the caller closed the connection');
  }
  trial.record();
  if (trial.failed !== null) return trial.failed;
  job.progress.delivered = 'whole';
  job.progress.status = 200;
  return null;
}

class Trial {
  losses: readonly Loss[] = [];
  failed: Fault | null = null;
  readonly #services: AttemptServices;
  readonly #job: Job;
  readonly #run: ImageRun;
  readonly #attempt: RouteAttempt;
  readonly #route: Route;
  readonly #facts: ImageModelFacts;
  readonly #provider: ConfiguredProvider;
  readonly #calls = new Set<BatchCaller>();
  readonly #ending = new AbortController();
  /** Pictures that no call has been sent for. */
  #unasked: number;
  #bytes = 0;
  #status: number | null = null;
  #firstMs: number | null = null;
  #drawn = 0;
  /** Of what was answered; `counted` when some of it had to be estimated. */
  #inputTokens = 0;
  #outputTokens = 0;
  #counted = false;
  /** Of calls that failed and may have cost something. */
  #abandoned: Usage | null = null;

  constructor(services: AttemptServices, job: Job, run: ImageRun, attempt: RouteAttempt, route: Route) {
    this.#services = services;
    this.#job = job;
    this.#run = run;
    this.#attempt = attempt;
    this.#route = route;
    this.#facts = attempt.target.image!;
    this.#provider = job.providers.get(attempt.target.provider)!;
    this.#unasked = run.gathered.missing;
  }

  async run(): Promise<Fault | null> {
    this.#job.caller.onGone(() => this.#fail(fault('cancelled', 'the caller closed the connection')));
    const calls = Math.ceil(this.#unasked / this.#facts.perCall);
    await Promise.all(Array.from({ length: Math.min(callsMax, calls) }, () => this.#line()));
    return this.failed;
  }

  /** One of the calls that run side by side, and those after it. */
  async #line(): Promise<void> {
    while (this.failed === null && this.#unasked > 0) {
      const count = Math.min(this.#facts.perCall, this.#unasked);
      this.#unasked -= count;
      try {
        const drawn = await this.#call(count);
        // Some give fewer than they were asked for, such as those that filter them; each call gives one at least.
        this.#unasked += count - drawn;
      } catch (error) {
        // A fault of ours ends the request: no call may go on beside it.
        this.#fail(fault('cancelled', 'stopped'));
        throw error;
      }
    }
  }

  /** How many pictures came of it. */
  async #call(count: number): Promise<number> {
    const { target } = this.#attempt;
    const body = prepareImages(this.#provider.connection, target, this.#run, count);
    this.losses = body.losses;
    const bytes = await this.#ask(body);
    if (bytes === null) return 0;
    const read = await this.#services.imageCodec.read(bytes, this.#facts.format, this.#form);
    if ('class' in read) {
      this.#fail(read);
      return 0;
    }
    // Nobody asked for more than that.
    const images = await Promise.all(read.images.slice(0, count).map((image) => this.#inHand(image)));
    if (this.failed !== null) return 0;
    this.#run.gathered.add(images as GatheredImage[], read.usage, read.told);
    this.#took(images.length, read.usage);
    return images.length;
  }

  get #form(): PictureForm {
    return this.#run.request.answerForm === 'url' ? 'bytes' : 'base64';
  }

  /** Null when the call failed, and said so. */
  async #ask(body: PreparedBody): Promise<Buffer | null> {
    const caller = new BatchCaller();
    const call: Job = { ...this.#job, stream: false, caller, progress: newProgress() };
    this.#calls.add(caller);
    try {
      const ended = await new Attempt(this.#services, call, untold, this.#attempt, body).run();
      const [record] = call.progress.attempts;
      this.#bytes += record?.bytes ?? 0;
      this.#status = ended?.status ?? record?.status ?? this.#status;
      if (ended === null) return caller.bytes!;
      this.#abandon(record?.usage ?? null);
      this.#fail(ended);
      return null;
    } finally {
      this.#calls.delete(caller);
    }
  }

  /** A link goes on as it is, if that is what the caller wants and can follow; else the picture is fetched. */
  async #inHand(image: ReadImage): Promise<GatheredImage | null> {
    if (!('url' in image)) return image;
    const own = ownPlace(image.url, this.#provider);
    if (this.#form === 'bytes' && own === null) return image;
    const picture = await this.#services.pictures.fetch(image.url, {
      own,
      as: this.#form,
      timeoutMs: this.#job.deadlineMs - this.#services.clock.monotonicMs(),
      signal: this.#ending.signal,
    });
    if ('class' in picture) {
      this.#fail(picture);
      return null;
    }
    return { ...picture, revisedPrompt: image.revisedPrompt };
  }

  #took(drawn: number, tokens: ImageTokens | null): void {
    const nowMs = this.#services.clock.monotonicMs();
    if (this.#firstMs === null) {
      this.#firstMs = nowMs - this.#attempt.startedMs;
      this.#route.firstToken(this.#attempt, nowMs);
    }
    this.#drawn += drawn;
    this.#inputTokens += tokens?.inputTokens ?? this.#job.inputTokensEstimate;
    this.#outputTokens += tokens?.outputTokens ?? 0;
    if (tokens === null) this.#counted = true;
  }

  #abandon(usage: Usage | null): void {
    if (usage === null) return;
    const inputTokens = (this.#abandoned?.inputTokens ?? 0) + usage.inputTokens;
    this.#abandoned = { inputTokens, outputTokens: 0 };
  }

  /** The first one counts; the calls beside it are stopped. */
  #fail(reason: Fault): void {
    if (this.failed !== null) return;
    this.failed = reason;
    this.#status = reason.status ?? this.#status;
    for (const call of this.#calls) call.leave();
    this.#ending.abort();
  }

  /** All calls as one attempt of the explanation; what was drawn is the request's, whoever draws the rest. */
  record(): void {
    const { target, credential, startedMs } = this.#attempt;
    const { progress } = this.#job;
    const served = this.#drawn > 0;
    const own = served
      ? { inputTokens: this.#inputTokens, outputTokens: this.#outputTokens, images: this.#drawn }
      : null;
    if (own !== null) {
      progress.usage = sumOf(progress.usage, own);
      if (progress.usageSource !== 'counted') progress.usageSource = this.#counted ? 'counted' : 'upstream';
      progress.firstTokenMs ??= this.#firstMs;
    }
    const usage = own ?? this.#abandoned;
    progress.attempts.push({
      target: target.id,
      provider: target.provider,
      model: target.model,
      credential: credential.id,
      class: this.failed?.class ?? 'ok',
      status: this.#status,
      ms: this.#services.clock.monotonicMs() - startedMs,
      firstTokenMs: this.#firstMs,
      bytes: this.#bytes,
      usage,
      usageSource: served ? (this.#counted ? 'counted' : 'upstream') : usage === null ? 'none' : 'abandoned',
      costUsd: usage === null ? null : usdOf(usage, target.price),
      message: this.failed?.message ?? null,
    });
  }
}

/**
 * The upstream's host and port, when that is where the picture lies and no Internet service: callers may not reach a
 * server on the operator's machines, nor need they know where it is.
 */
function ownPlace(url: string, { connection }: ConfiguredProvider): string | null {
  const { origin, host, port } = new URL(url);
  if (origin !== connection.origin || !origin.startsWith('http:')) return null;
  return port === '' ? `${host}:80` : host;
}

function sumOf(before: Usage | null, own: Usage): Usage {
  if (before === null) return own;
  return {
    inputTokens: before.inputTokens + own.inputTokens,
    outputTokens: before.outputTokens + own.outputTokens,
    images: (before.images ?? 0) + (own.images ?? 0),
  };
}

/** The attempt's own first picture is told, not those of each call. */
const untold: Pick<Route, 'firstToken'> = { firstToken() {} };
