import type { Failure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { JudgedText, RequestView, RunningStep, StepRequest, Verdict } from '../models/steps.ts';
import { blocked } from './guard-failures.ts';
import { type GuardRule, RunningGuard } from './running-guard.ts';
import type { ServerPorts } from './server-ports.ts';

/** A guard with the check `json-schema`. */
export interface SchemaGuard extends GuardRule {
  ports(): Promise<Pick<ServerPorts, 'schemas'>>;
}

/** Conversations, whose answers have texts that can be distinguished from all else. */
const endpoints: readonly string[] = ['chat', 'messages', 'responses'];
/** Others that answer with a model's texts. */
const unreadEndpoints: readonly string[] = ['completions', 'fim'];

/** The schema of one guard over answers. Those that call tools or refuse pass; one without a text is no JSON. */
export class RunningSchemaGuard extends RunningGuard<SchemaGuard> {
  readonly #about: StepRequest;
  #repaired: string | null = null;

  constructor(guard: SchemaGuard, about: StepRequest) {
    super(guard);
    this.#about = about;
  }

  step(): RunningStep {
    const { endpoint } = this.#about;
    const judge = {
      changes: this.#repairs,
      whole: true as const,
      of: (texts: readonly JudgedText[]) => this.#of(texts),
      ...(this.#repairs && { repaired: () => this.#repaired }),
    };
    return {
      ...(endpoints.includes(endpoint) && { judge }),
      ...(unreadEndpoints.includes(endpoint) && { request: (_: RequestView) => this.#request() }),
      session: () => this.unread(1, 'a request of this kind'),
    };
  }

  /** It reads answers of conversations alone. */
  override unreadAnswer(): null {
    return null;
  }

  get #repairs(): boolean {
    const { action, repair = true } = this.guard.config;
    return this.enforces && action === 'block' && repair;
  }

  #request(): Verdict {
    const refused = this.unread(1, 'a request of this kind');
    return refused === null ? null : { refused };
  }

  async #of(texts: readonly JudgedText[]): Promise<readonly string[] | Failure> {
    const passed = texts.map(({ text }) => text);
    const choices = new Set(texts.map(({ choice }) => choice));
    for (const choice of choices) {
      const answerTexts = texts.filter((one) => one.choice === choice && one.isBeside !== true);
      const parts = answerTexts.filter(({ kind }) => kind === 'assistant');
      if (parts.length === 0 || answerTexts.some(({ kind }) => kind === 'tool-arguments' || kind === 'refusal'))
        continue;
      const found = await this.#look(parts.map(({ text }) => text).join(''), choices.size === 1 && this.#repairs);
      if (typeof found !== 'string') {
        if (found !== null) return found;
        continue;
      }
      for (const part of parts) passed[texts.indexOf(part)] = part === parts[0] ? found : '';
    }
    return passed;
  }

  /** Null: the answer passes. A text: it goes on in its place. */
  async #look(answer: string, mayRepair: boolean): Promise<Failure | string | null> {
    const why = await this.#lacking(answer);
    if (typeof why !== 'string') return why === null ? null : this.unanswered();
    if (mayRepair) {
      const repaired = (await this.#about.again?.(repairTurns(answer, why))) ?? null;
      if (repaired !== null && (await this.#lacking(repaired)) === null) {
        this.count('repaired', 1);
        this.#repaired = repaired;
        return repaired;
      }
    }
    const { name, config } = this.guard;
    this.count(config.action === 'flag' ? 'flagged' : 'blocked', 1);
    if (!this.enforces || config.action === 'flag') return null;
    return blocked(name, 'the answer', 'it does not meet its JSON schema');
  }

  /** Null: it meets the schema. Undefined: nobody could say in time. */
  async #lacking(answer: string): Promise<string | null | undefined> {
    try {
      const { schemas } = await this.guard.ports();
      const { schema = {} } = this.guard.config;
      return (await schemas.look(this.#about.principal.tenant, answer, schema as JsonObject))?.why;
    } catch {
      return undefined;
    }
  }
}

const whyCharsMax = 500;

function repairTurns(answer: string, why: string) {
  const order = `Your answer does not meet the JSON schema that it must meet: ${why.slice(0, whyCharsMax)} Answer again with JSON alone that meets it, without a word or a code fence around it.`;
  // Providers refuse a turn without a text.
  const answerTurn = answer.trim() === '' ? [] : [{ role: 'assistant' as const, content: answer }];
  return [...answerTurn, { role: 'user' as const, content: order }];
}
