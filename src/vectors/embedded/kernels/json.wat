;; Numbers of a JSON text.
(module
  (import "arena" "memory" (memory 1))

  ;; Eight digits, a byte each from 0 to 9, the first one lowest.
  (func $eight (param $x i64) (result i64)
    (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 10)) (i64.shr_u (local.get $x) (i64.const 8))))
    (i64.shr_u
      (i64.add
        (i64.mul (i64.and (local.get $x) (i64.const 0x000000ff000000ff)) (i64.const 0x000f424000000064))
        (i64.mul
          (i64.and (i64.shr_u (local.get $x) (i64.const 16)) (i64.const 0x000000ff000000ff))
          (i64.const 0x0000271000000001)))
      (i64.const 32)))

  ;; Reads an array of numbers, `text` being behind its bracket, as f32 to `out` on; `end`: place of an i32, the address behind
  ;; the closing bracket. Gives how many there are; 0 for whatever is not a plain array of numbers with at most 19 digits
  ;; each. `powers`: f64 of 10^0 to 10^22, then 10^0 to 10^8 as i64, then for each of these the least i64 that may not be
  ;; multiplied by it. The text ends with eight bytes that are no digits.
  (func (export "readNumbers") (param $text i32) (param $out i32) (param $end i32) (param $powers i32) (result i32)
    (local $start i32) (local $byte i32) (local $isNegative i32) (local $first i32) (local $x i64) (local $others i64)
    (local $run i32) (local $mantissa i64) (local $sixteen v128) (local $digits i32) (local $point i32) (local $exponent i32)
    (local $isSmall i32) (local $given i32) (local $value f64) (local $float f32)
    (local.set $start (local.get $out))
    (loop $number
      (loop $blank
        (local.set $byte (i32.load8_u (local.get $text)))
        (if (i32.or
              (i32.or (i32.eq (local.get $byte) (i32.const 0x20)) (i32.eq (local.get $byte) (i32.const 0x0a)))
              (i32.or (i32.eq (local.get $byte) (i32.const 0x0d)) (i32.eq (local.get $byte) (i32.const 0x09))))
          (then
            (local.set $text (i32.add (local.get $text) (i32.const 1)))
            (br $blank))))
      (local.set $isNegative (i32.eq (local.get $byte) (i32.const 0x2d)))
      (local.set $text (i32.add (local.get $text) (local.get $isNegative)))
      (block $scanned
      ;; Most numbers are 0.…, with 16 digits or a few more: all at once, without a branch for how many.
      (block $others
        (br_if $others (i32.ne (i32.load16_u (local.get $text)) (i32.const 0x2e30)))
        (local.set $sixteen (v128.xor (v128.load offset=2 (local.get $text)) (i8x16.splat (i32.const 0x30))))
        (br_if $others (i32.eqz (i8x16.all_true (i8x16.lt_u (local.get $sixteen) (i8x16.splat (i32.const 10))))))
        (local.set $x (i64.xor (i64.load offset=18 (local.get $text)) (i64.const 0x3030303030303030)))
        (local.set $others (i64.and
          (i64.or (i64.add (local.get $x) (i64.const 0x7676767676767676)) (local.get $x))
          (i64.const 0x8080808080808080)))
        (local.set $run (i32.shr_u (i32.wrap_i64 (i64.ctz (local.get $others))) (i32.const 3)))
        (br_if $others (i32.gt_u (local.get $run) (i32.const 3)))
        ;; Two digits in each 16 bits, then four in each 32, then eight.
        (local.set $sixteen (i32x4.dot_i16x8_s
          (i16x8.add
            (i16x8.mul
              (v128.and (local.get $sixteen) (i16x8.splat (i32.const 0xff)))
              (i16x8.splat (i32.const 10)))
            (i16x8.shr_u (local.get $sixteen) (i32.const 8)))
          (v128.const i16x8 100 1 100 1 100 1 100 1)))
        (local.set $sixteen (i32x4.dot_i16x8_s
          (i16x8.narrow_i32x4_u (local.get $sixteen) (local.get $sixteen))
          (v128.const i16x8 10000 1 10000 1 10000 1 10000 1)))
        (local.set $mantissa (i64.add
          (i64.mul
            (i64.add
              (i64.mul (i64.extend_i32_u (i32x4.extract_lane 0 (local.get $sixteen))) (i64.const 100000000))
              (i64.extend_i32_u (i32x4.extract_lane 1 (local.get $sixteen))))
            (i64.load offset=184 (i32.add (local.get $powers) (i32.shl (local.get $run) (i32.const 3)))))
          ;; In two steps: by 64 bits nothing would move.
          (call $eight (i64.shl
            (i64.shl
              (local.get $x)
              (i64.extend_i32_u (i32.sub (i32.const 56) (i32.shl (local.get $run) (i32.const 3)))))
            (i64.const 8)))))
        (local.set $exponent (i32.sub (i32.const -16) (local.get $run)))
        (local.set $text (i32.add (local.get $text) (i32.add (i32.const 18) (local.get $run))))
        (local.set $byte (i32.load8_u (local.get $text)))
        (br $scanned))
      (local.set $first (i32.load8_u (local.get $text)))
      (local.set $mantissa (i64.const 0))
      (local.set $digits (i32.const 0))
      (local.set $point (i32.const -1))
      ;; Up to eight digits at a time.
      (loop $digit
        (local.set $x (i64.xor (i64.load (local.get $text)) (i64.const 0x3030303030303030)))
        (local.set $others (i64.and
          (i64.or (i64.add (local.get $x) (i64.const 0x7676767676767676)) (local.get $x))
          (i64.const 0x8080808080808080)))
        (local.set $run (i32.shr_u (i32.wrap_i64 (i64.ctz (local.get $others))) (i32.const 3)))
        (if (local.get $run) (then
          (if (i64.ge_u
                (local.get $mantissa)
                (i64.load offset=256 (i32.add (local.get $powers) (i32.shl (local.get $run) (i32.const 3)))))
            (then (return (i32.const 0))))
          (local.set $mantissa (i64.add
            (i64.mul
              (local.get $mantissa)
              (i64.load offset=184 (i32.add (local.get $powers) (i32.shl (local.get $run) (i32.const 3)))))
            ;; Digits move to the end; zeros come before them.
            (call $eight (i64.shl
              (local.get $x)
              (i64.extend_i32_u (i32.sub (i32.const 64) (i32.shl (local.get $run) (i32.const 3))))))))
          (local.set $text (i32.add (local.get $text) (local.get $run)))
          (local.set $digits (i32.add (local.get $digits) (local.get $run)))
          (br_if $digit (i32.eq (local.get $run) (i32.const 8)))))
        (local.set $byte (i32.load8_u (local.get $text)))
        (if (i32.and (i32.eq (local.get $byte) (i32.const 0x2e)) (i32.lt_s (local.get $point) (i32.const 0))) (then
          (local.set $point (local.get $digits))
          (local.set $text (i32.add (local.get $text) (i32.const 1)))
          (br $digit))))
      ;; Digits before the point, one if the first is 0, and some after it.
      (if (i32.lt_s (local.get $point) (i32.const 0))
        (then (local.set $point (local.get $digits)))
        (else (if (i32.eq (local.get $point) (local.get $digits)) (then (return (i32.const 0))))))
      (if (i32.or
            (i32.eqz (local.get $point))
            (i32.and (i32.eq (local.get $first) (i32.const 0x30)) (i32.gt_u (local.get $point) (i32.const 1))))
        (then (return (i32.const 0))))
      (local.set $exponent (i32.sub (local.get $point) (local.get $digits))))
      (if (i32.eq (i32.or (local.get $byte) (i32.const 0x20)) (i32.const 0x65)) (then
        (local.set $text (i32.add (local.get $text) (i32.const 1)))
        (local.set $byte (i32.load8_u (local.get $text)))
        (local.set $isSmall (i32.eq (local.get $byte) (i32.const 0x2d)))
        (local.set $text (i32.add
          (local.get $text)
          (i32.or (local.get $isSmall) (i32.eq (local.get $byte) (i32.const 0x2b)))))
        (local.set $x (i64.xor (i64.load (local.get $text)) (i64.const 0x3030303030303030)))
        (local.set $others (i64.and
          (i64.or (i64.add (local.get $x) (i64.const 0x7676767676767676)) (local.get $x))
          (i64.const 0x8080808080808080)))
        (local.set $run (i32.shr_u (i32.wrap_i64 (i64.ctz (local.get $others))) (i32.const 3)))
        (if (i32.or (i32.eqz (local.get $run)) (i32.gt_u (local.get $run) (i32.const 3))) (then (return (i32.const 0))))
        (local.set $given (i32.wrap_i64 (call $eight (i64.shl
          (local.get $x)
          (i64.extend_i32_u (i32.sub (i32.const 64) (i32.shl (local.get $run) (i32.const 3))))))))
        (if (local.get $isSmall) (then (local.set $given (i32.sub (i32.const 0) (local.get $given)))))
        (local.set $exponent (i32.add (local.get $exponent) (local.get $given)))
        (local.set $text (i32.add (local.get $text) (local.get $run)))
        (local.set $byte (i32.load8_u (local.get $text)))))
      (if (i32.or (i32.lt_s (local.get $exponent) (i32.const -44)) (i32.gt_s (local.get $exponent) (i32.const 22)))
        (then (return (i32.const 0))))
      (local.set $value (f64.convert_i64_u (local.get $mantissa)))
      (if (i32.lt_s (local.get $exponent) (i32.const -22)) (then
        (local.set $value (f64.div (local.get $value) (f64.load offset=176 (local.get $powers))))
        (local.set $exponent (i32.add (local.get $exponent) (i32.const 22)))))
      (if (i32.lt_s (local.get $exponent) (i32.const 0))
        (then (local.set $value (f64.div
          (local.get $value)
          (f64.load (i32.sub (local.get $powers) (i32.shl (local.get $exponent) (i32.const 3)))))))
        (else (local.set $value (f64.mul
          (local.get $value)
          (f64.load (i32.add (local.get $powers) (i32.shl (local.get $exponent) (i32.const 3))))))))
      ;; Without a branch: nobody can guess signs.
      (local.set $float (f32.demote_f64 (f64.copysign
        (local.get $value)
        (f64.convert_i32_s (i32.sub (i32.const 0) (local.get $isNegative))))))
      (if (f32.eq (f32.abs (local.get $float)) (f32.const inf)) (then (return (i32.const 0))))
      (f32.store (local.get $out) (local.get $float))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (block $next (loop $after
        (local.set $byte (i32.load8_u (local.get $text)))
        (local.set $text (i32.add (local.get $text) (i32.const 1)))
        (br_if $number (i32.eq (local.get $byte) (i32.const 0x2c)))
        (br_if $next (i32.eq (local.get $byte) (i32.const 0x5d)))
        (br_if $after (i32.or
          (i32.or (i32.eq (local.get $byte) (i32.const 0x20)) (i32.eq (local.get $byte) (i32.const 0x0a)))
          (i32.or (i32.eq (local.get $byte) (i32.const 0x0d)) (i32.eq (local.get $byte) (i32.const 0x09)))))
        (return (i32.const 0)))))
    (i32.store (local.get $end) (local.get $text))
    (i32.shr_u (i32.sub (local.get $out) (local.get $start)) (i32.const 2)))
)
