const datetimeCharsMax = 64;
const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:([Tt ])(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:([Zz]| UTC)|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

/**
 * Ms since 1970 (with fractions) of a time as Qdrant reads it: RFC 3339, also with a space instead of the T, without an
 * offset (UTC then), with an offset without its colon or minutes, `YYYY-MM-DD HH:MM` (a T instead of the space, too)
 * and `YYYY-MM-DD`. Null for others.
 */
export function datetimeMs(text: string): number | null {
  // Payload strings come here, too, and most are not times.
  if (text.length > datetimeCharsMax || text.charCodeAt(4) !== 0x2d) return null;
  const found = form.exec(text);
  if (found === null) return null;
  const [, year, month, day, separator, hour, minute, second, fraction, utc, sign, offsetHour, offsetMinute] = found;
  const zoned = utc !== undefined || sign !== undefined;
  if (separator !== undefined && second === undefined && (separator === 't' || zoned)) return null;
  const parts = [month, day, hour, minute, second].map((part) => Number(part ?? 0));
  const [months = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts;
  // 60 is a leap second.
  if (hours > 23 || minutes > 59 || seconds > 60) return null;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), months - 1, days);
  if (date.getUTCMonth() !== months - 1 || date.getUTCDate() !== days) return null;
  const offset = offsetMinutes(sign, offsetHour, offsetMinute);
  if (offset === null) return null;
  const fractionMs = fraction === undefined ? 0 : Number(`0.${fraction.slice(0, 9)}`) * 1_000;
  return date.getTime() + ((hours * 60 + minutes - offset) * 60 + seconds) * 1_000 + fractionMs;
}

function offsetMinutes(sign: string | undefined, hour: string | undefined, minute: string | undefined): number | null {
  if (sign === undefined) return 0;
  const [hours, minutes] = [Number(hour), Number(minute ?? 0)];
  if (hours > 23 || minutes > 59) return null;
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes);
}
