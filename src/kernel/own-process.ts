let own = false;

/** This process is Culvert's alone. So it may change V8's settings, which hold for everything in the process. */
export function ownProcess(): void {
  own = true;
}

/** Whether `ownProcess` was called: not in an application that has the gateway as a library. */
export function ownsProcess(): boolean {
  return own;
}
