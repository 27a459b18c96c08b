/** A limit of the upstream: of one model, or of a credential with all its models. */
export interface Cooling {
  /** Rate-limited by the upstream until then; 0: not. */
  coolingUntilMs: number;
  /** The upstream's message about it, and the tenant that got it; null: none. */
  coolingMessage: CoolingMessage | null;
}

export interface CredentialCooling extends Cooling {
  /** The model that was limited last. */
  limitedLast: Cooling | null;
}

/** A model at a credential. */
interface Cooled extends Cooling {
  readonly ofCredential: CredentialCooling;
}

export interface CoolingMessage {
  text: string;
  /** They may describe this key's requests: nobody else reads them. */
  tenant: string;
}

/** The limit that keeps it away for longer: of its model, or of its credential. */
export function coolingOf(state: Cooled): Cooling {
  return state.coolingUntilMs > state.ofCredential.coolingUntilMs ? state : state.ofCredential;
}

/**
 * Rate-limited for so long. Most limits are those of a model, so the others go on. A second model that is limited
 * meanwhile shows that the credential is (docs/decisions/0070).
 */
export function cool(state: Cooled, untilMs: number, message: CoolingMessage | null, nowMs: number): void {
  const { ofCredential } = state;
  const { limitedLast } = ofCredential;
  extend(state, untilMs, message);
  if (limitedLast !== null && limitedLast !== state && limitedLast.coolingUntilMs > nowMs)
    extend(ofCredential, untilMs, message);
  ofCredential.limitedLast = state;
}

/** An earlier, longer one stays. */
export function extend(cooling: Cooling, untilMs: number, message: CoolingMessage | null): void {
  if (untilMs <= cooling.coolingUntilMs) return;
  cooling.coolingUntilMs = untilMs;
  cooling.coolingMessage = message;
}
