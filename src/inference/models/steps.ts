import type { Principal } from '../../books/auth/principal.ts';
import type { TextChange, TextKind, Texts } from '../../formats/neutral/json-texts.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { AttemptRecord } from '../../routing/route.ts';
import type { Alias } from './alias.ts';
import type { BodyAddition } from './prompted-body.ts';

/** A configured look at requests and their answers: a guard, a cache's key, an operator's hook. */
export interface GatewayStep {
  /** Begins a request; what it remembers of it lives in what it gives. Null: it leaves this one alone. */
  begin(about: StepRequest): RunningStep | null;
}

/** One object a request, the same for all of its steps. */
export interface StepRequest {
  requestId: string;
  principal: Principal;
  callerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  /** Name in the ledger. */
  endpoint: string;
  /** Null: no model answers, or nobody has the one that it names. */
  alias: Alias | null;
  /**
   * Asks the model of this conversation once more, with further turns, at the caller's cost: the text of its answer, before
   * the filters of texts. Null: there is none. Never rejects. Absent: it is no conversation that can go on.
   */
  again?: (turns: readonly { role: 'user' | 'assistant'; content: string }[]) => Promise<string | null>;
}

/** One step over one request and its answer. */
export interface RunningStep {
  /** Over the request before anything is planned or held. Absent: it only sees the answer. */
  request?(body: RequestView): Verdict | Promise<Verdict>;
  /**
   * Over what is added to the request while tools of this server run: functions that the model is offered, its turns, and
   * results. Absent: it does not look.
   */
  turns?(added: RequestView): Promise<AddedVerdict>;
  /** Over a session whose texts no step sees: why it may not begin, or null. Absent: it may. */
  session?(): Failure | null;
  /** Over one text of a conversation's answer, whole or streamed; null: it leaves that text alone. Absent: all of them. */
  answer?: AnswerTexts;
  /** Over texts of an answer that someone is asked about. Absent: nobody is. */
  judge?: AnswerJudge;
  /** Chooses among the targets before the first attempt, named `provider/model`. Absent: it takes them as they are. */
  route?(targets: readonly string[]): Promise<TargetChoice>;
  /** After each attempt. Absent: it does not look. */
  attempted?(attempt: AttemptRecord): void;
  /** Headers of the answer, which its record has too: name, value… They say what the step did so far. */
  headers?(): readonly string[];
}

/**
 * Null: the request goes on as it is. `model`: another alias answers, which the caller must be allowed to use. `beside`:
 * it goes on, and its answer waits for this; a failure is its end. Never rejects.
 */
export type Verdict =
  | {
      changes?: readonly TextChange[];
      model?: string;
      /** Tag that its use is summed by. */
      tag?: string;
      /** Goes into the body, where the endpoint has a place for it. */
      addition?: BodyAddition;
    }
  | { refused: Failure }
  | { beside: Promise<Failure | null> }
  | null;

/** Null: what is added goes on as it is. No other model can answer any more. */
export type AddedVerdict = { changes: readonly TextChange[] } | { refused: Failure } | null;

/** The targets that are asked, in their order; null: all of them. */
export type TargetChoice = readonly string[] | Failure | null;

/** One text of an answer, or a part of it that ends with a sentence. */
export interface JudgedText extends AnswerTextPlace {
  text: string;
}

/** Gives the texts that go on, in their order, or the failure that ends the answer. Never rejects. */
export interface AnswerJudge {
  /** Whether it may give others than it got. */
  changes: boolean;
  /** Whether a stream is held to its end, and judged as one. Absent: by sentences. */
  whole?: true;
  of(texts: readonly JudgedText[]): Promise<readonly string[] | Failure>;
  /** The text that it put in the place of the answer's, the same for all callers; null: none. Absent: it puts none. */
  repaired?(): string | null;
}

/** Verdicts that an answer waits for. */
export interface AnswerGate {
  /** The verdict over its request; null: it is there, and the request passed. */
  request: Promise<Failure | null> | null;
  /** Null: nobody is asked about the answer. */
  judge: AnswerJudge['of'] | null;
  /** Whether the judge has the whole of a stream. */
  whole?: boolean;
  /** The same of the judge. */
  repaired?: AnswerJudge['repaired'];
}

/** A request as steps see it, wherever its body is; null: nobody reads the body. Both throw a FailureError where it is lost. */
export interface RequestView {
  texts(): Promise<Texts | null>;
  canonical(): Promise<Canonical | null>;
}

/**
 * All that can change an answer, equal for requests that mean the same: in whatever order of members, and of
 * conversations in whatever format.
 */
export interface Canonical {
  /** It names pictures or files by URL or id, which may be others the next time. Absent: all of it is here. */
  elsewhere?: true;
  /** It names its user, or has something for a provider's books, which are in no field. Absent: nobody knows of any. */
  labelled?: true;
  /** Each as JSON, long ones as a digest (SHA-256). They say where two requests differ. */
  fields: Readonly<Record<string, string>>;
  /** The last turn of a conversation of texts alone, where it was asked for. Absent: it is no such conversation. */
  question?: CanonicalQuestion;
}

export interface CanonicalQuestion {
  text: string;
  /** Digest of all other turns. */
  before: string;
}

/** The filter for one text of an answer; null: it goes on as it comes. */
export type AnswerTexts = (place: AnswerTextPlace) => TextFilter | null;

export interface AnswerTextPlace {
  kind: TextKind;
  /** Index of the answer, where there are several. */
  choice: number;
  /** In a part that is no text, such as a source. */
  isBeside?: true;
  /** In what a tool of this server brought, which no model wrote: words in it are those of other requests. */
  isOfTool?: true;
  /** The name of a member, which its owner or a model chose. */
  isName?: true;
}

/** Takes a text in pieces and gives those that may go on, or the failure that ends the answer. */
export interface TextFilter {
  push(text: string): string | Failure;
  /** The text that it still holds. */
  end(): string | Failure;
  /** Whether a whole text is the word for a number. Absent: none is. */
  isNumber?(text: string): boolean;
  /** Whether it changed more so far than words that stood for values of the request. Absent: it may have. */
  hides?(): boolean;
  /** Parts of the answer that are no text, and that nobody can read: the failure that ends it, or null. Absent: null. */
  unread?(parts: number): Failure | null;
  /** Notes that a part of the text ends here and another one goes on. Absent: a text ends with its part. */
  endPart?(): void;
  /** Whether what it holds ends within a word that has a value. Absent: it does not. */
  isInWord?(): boolean;
  /** The filter of a text that goes on behind other parts of the answer, though it had ended. Absent: that is another text. */
  resumed?(): TextFilter;
  /** Places, in what `push` or `end` gave last, where parts end. */
  partEnds?(): readonly number[];
  /** Begins the same for a text whose parts stay apart, instead of `push`. Absent: each of them is a text. */
  parts?(): TextParts | undefined;
}

/**
 * Takes the parts of one text, and null behind the last one. Gives each as it may go on, in their order and perhaps later,
 * or the failure that ends the answer.
 */
export type TextParts = (part: string | null) => readonly string[] | Failure;

/** A step, and the requests that it applies to: all of them, or those of the models, plans, accounts or keys named. */
export interface ScopedStep {
  step: GatewayStep;
  on:
    | 'server'
    | ((principal: Principal, alias: Alias | null) => boolean)
    | Partial<Record<'models' | 'plans' | 'accounts' | 'keys', readonly string[]>>;
}

/** The steps of a configuration, prepared when its snapshot is made: those that apply, in order, or null. */
export interface StepTable {
  of(principal: Principal, alias: Alias | null): readonly GatewayStep[] | null;
}

/** The table of these steps; null: there are none. */
export function stepTable(scoped: readonly ScopedStep[]): StepTable | null {
  if (scoped.length === 0) return null;
  return {
    of(principal, alias) {
      const { account, plan, keyId } = principal;
      const named = { accounts: account, plans: plan, keys: keyId, models: alias?.id ?? '' };
      const applies = ({ on }: ScopedStep) =>
        typeof on === 'function'
          ? on(principal, alias)
          : on === 'server' || Object.entries(named).some(([by, name]) => on[by as keyof typeof named]?.includes(name));
      const steps = scoped.filter(applies).map(({ step }) => step);
      return steps.length === 0 ? null : steps;
    },
  };
}
