/** A look into the store that takes longer is a miss. */
export const lookMsMax = 20;

/** The result of the work, or that it is late after `msMax`. */
export async function within<T>(work: T | Promise<T>, msMax: number): Promise<T | 'late'> {
  if (!(work instanceof Promise)) return work;
  const late = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => late.resolve('late'), msMax);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
