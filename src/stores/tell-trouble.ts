/**
 * Says once when `trouble` begins, once when it is another one and once when it is over; `look` is called now and
 * then. What refuses every request must stand in the log, not in the callers' answers alone.
 */
export function createTroubleReport(trouble: () => string | null, tell: (message: string) => void): { look(): void } {
  let told: string | null = null;
  return {
    look() {
      const now = trouble();
      if (now === told) return;
      told = now;
      tell(now === null ? 'ledger: requests are recorded again' : `ledger: requests cannot be recorded: ${now}`);
    },
  };
}
