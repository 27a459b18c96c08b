;; Vectors as one signed byte a component. A row: `width` codes (a multiple of 32, padded with zeros), then f32 scale (what
;; one step is worth) and f32 error (how far off a product with a query of length 1 may be, see code-tier.ts).
(module
  (import "arena" "memory" (memory 1 65536 shared))
  (func $sum (param $v v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $v)) (f32x4.extract_lane 1 (local.get $v)))
      (f32.add (f32x4.extract_lane 2 (local.get $v)) (f32x4.extract_lane 3 (local.get $v)))))

  ;; Dot products of a query of i16 codes, worth `step` each, with `count` rows; `out`: one f32 a row.
  (func (export "dotI8")
    (param $query i32) (param $step f32) (param $rows i32) (param $stride i32) (param $count i32) (param $width i32)
    (param $out i32)
    (local $p i32) (local $q i32) (local $end i32) (local $a v128) (local $b v128)
    (if (i32.eqz (local.get $count)) (then (return)))
    (loop $row
      (local.set $p (local.get $rows))
      (local.set $end (i32.add (local.get $rows) (local.get $width)))
      (local.set $q (local.get $query))
      (local.set $a (v128.const i32x4 0 0 0 0))
      (local.set $b (v128.const i32x4 0 0 0 0))
      (loop $codes
        (local.set $a (i32x4.add (local.get $a)
          (i32x4.dot_i16x8_s (v128.load8x8_s (local.get $p)) (v128.load (local.get $q)))))
        (local.set $b (i32x4.add (local.get $b)
          (i32x4.dot_i16x8_s (v128.load8x8_s offset=8 (local.get $p)) (v128.load offset=16 (local.get $q)))))
        (local.set $a (i32x4.add (local.get $a)
          (i32x4.dot_i16x8_s (v128.load8x8_s offset=16 (local.get $p)) (v128.load offset=32 (local.get $q)))))
        (local.set $b (i32x4.add (local.get $b)
          (i32x4.dot_i16x8_s (v128.load8x8_s offset=24 (local.get $p)) (v128.load offset=48 (local.get $q)))))
        (local.set $q (i32.add (local.get $q) (i32.const 64)))
        (br_if $codes (i32.ne (local.tee $p (i32.add (local.get $p) (i32.const 32))) (local.get $end))))
      ;; The halves are added as floats: their sum may leave 32 bits.
      (f32.store (local.get $out)
        (f32.mul
          (f32.mul
            (call $sum (f32x4.add (f32x4.convert_i32x4_s (local.get $a)) (f32x4.convert_i32x4_s (local.get $b))))
            (local.get $step))
          (f32.load (local.get $end))))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (local.set $rows (i32.add (local.get $rows) (local.get $stride)))
      (br_if $row (local.tee $count (i32.sub (local.get $count) (i32.const 1))))))

  ;; As `dotI8`, of rows anywhere; `addresses`: one i32 a row; `outs`: where its result goes. Of eight rows at a time one byte
  ;; of every 64 is read first: memory is waited for once for all of them.
  (func (export "dotI8At")
    (param $query i32) (param $step f32) (param $addresses i32) (param $outs i32) (param $count i32) (param $width i32)
    (local $p i32) (local $q i32) (local $end i32) (local $a v128) (local $b v128)
    (local $batch i32) (local $ahead i32) (local $touched i32)
    (if (i32.eqz (local.get $count)) (then (return)))
    (local.set $count (i32.add (local.get $addresses) (i32.shl (local.get $count) (i32.const 2))))
    (loop $batches
      (local.set $ahead (local.get $addresses))
      (local.set $batch (i32.add (local.get $addresses) (i32.const 32)))
      (if (i32.gt_u (local.get $batch) (local.get $count)) (then (local.set $batch (local.get $count))))
      (loop $touch
        (local.set $p (i32.load (local.get $ahead)))
        (local.set $end (i32.add (local.get $p) (local.get $width)))
        (loop $line
          (local.set $touched (i32.add (local.get $touched) (i32.load8_u (local.get $p))))
          (br_if $line (i32.lt_u (local.tee $p (i32.add (local.get $p) (i32.const 64))) (local.get $end))))
        (br_if $touch (i32.ne (local.tee $ahead (i32.add (local.get $ahead) (i32.const 4))) (local.get $batch))))
      ;; Written over below; a sum that goes nowhere would not be made.
      (i32.store (i32.load (local.get $outs)) (local.get $touched))
      (loop $row
        (local.set $p (i32.load (local.get $addresses)))
        (local.set $end (i32.add (local.get $p) (local.get $width)))
        (local.set $q (local.get $query))
        (local.set $a (v128.const i32x4 0 0 0 0))
        (local.set $b (v128.const i32x4 0 0 0 0))
        (loop $codes
          (local.set $a (i32x4.add (local.get $a)
            (i32x4.dot_i16x8_s (v128.load8x8_s (local.get $p)) (v128.load (local.get $q)))))
          (local.set $b (i32x4.add (local.get $b)
            (i32x4.dot_i16x8_s (v128.load8x8_s offset=8 (local.get $p)) (v128.load offset=16 (local.get $q)))))
          (local.set $a (i32x4.add (local.get $a)
            (i32x4.dot_i16x8_s (v128.load8x8_s offset=16 (local.get $p)) (v128.load offset=32 (local.get $q)))))
          (local.set $b (i32x4.add (local.get $b)
            (i32x4.dot_i16x8_s (v128.load8x8_s offset=24 (local.get $p)) (v128.load offset=48 (local.get $q)))))
          (local.set $q (i32.add (local.get $q) (i32.const 64)))
          (br_if $codes (i32.ne (local.tee $p (i32.add (local.get $p) (i32.const 32))) (local.get $end))))
        ;; The halves are added as floats: their sum may leave 32 bits.
        (f32.store (i32.load (local.get $outs))
          (f32.mul
            (f32.mul
              (call $sum (f32x4.add (f32x4.convert_i32x4_s (local.get $a)) (f32x4.convert_i32x4_s (local.get $b))))
              (local.get $step))
            (f32.load (local.get $end))))
        (local.set $outs (i32.add (local.get $outs) (i32.const 4)))
        (br_if $row (i32.ne
          (local.tee $addresses (i32.add (local.get $addresses) (i32.const 4)))
          (local.get $batch))))
      (br_if $batches (i32.ne (local.get $addresses) (local.get $count)))))

  ;; Writes the row of one f32 vector (`width` components, padded with zeros). Vectors that are smaller than any step can
  ;; show become zeros, which their error says.
  (func (export "encodeI8") (param $vector i32) (param $width i32) (param $row i32)
    (local $p i32) (local $end i32) (local $max v128) (local $top f32) (local $scale f32) (local $inverse v128)
    (local $steps v128) (local $wrong v128)
    (local $x0 v128) (local $x1 v128) (local $x2 v128) (local $x3 v128)
    (local $n0 v128) (local $n1 v128) (local $n2 v128) (local $n3 v128)
    (local.set $p (local.get $vector))
    (local.set $end (i32.add (local.get $vector) (i32.shl (local.get $width) (i32.const 2))))
    (loop $largest
      (local.set $max (f32x4.max (local.get $max) (f32x4.abs (v128.load (local.get $p)))))
      (br_if $largest (i32.ne (local.tee $p (i32.add (local.get $p) (i32.const 16))) (local.get $end))))
    (local.set $top (f32.max
      (f32.max (f32x4.extract_lane 0 (local.get $max)) (f32x4.extract_lane 1 (local.get $max)))
      (f32.max (f32x4.extract_lane 2 (local.get $max)) (f32x4.extract_lane 3 (local.get $max)))))
    (if (f32.gt (local.get $top) (f32.const 1e-30)) (then
      (local.set $scale (f32.div (local.get $top) (f32.const 127)))
      (local.set $inverse (f32x4.splat (f32.div (f32.const 127) (local.get $top))))
      (local.set $steps (f32x4.splat (local.get $scale)))))
    (local.set $p (local.get $vector))
    (loop $codes
      (local.set $n0 (f32x4.nearest (f32x4.mul (local.tee $x0 (v128.load (local.get $p))) (local.get $inverse))))
      (local.set $n1 (f32x4.nearest (f32x4.mul (local.tee $x1 (v128.load offset=16 (local.get $p))) (local.get $inverse))))
      (local.set $n2 (f32x4.nearest (f32x4.mul (local.tee $x2 (v128.load offset=32 (local.get $p))) (local.get $inverse))))
      (local.set $n3 (f32x4.nearest (f32x4.mul (local.tee $x3 (v128.load offset=48 (local.get $p))) (local.get $inverse))))
      (v128.store (local.get $row)
        (i8x16.narrow_i16x8_s
          (i16x8.narrow_i32x4_s (i32x4.trunc_sat_f32x4_s (local.get $n0)) (i32x4.trunc_sat_f32x4_s (local.get $n1)))
          (i16x8.narrow_i32x4_s (i32x4.trunc_sat_f32x4_s (local.get $n2)) (i32x4.trunc_sat_f32x4_s (local.get $n3)))))
      (local.set $x0 (f32x4.sub (local.get $x0) (f32x4.mul (local.get $n0) (local.get $steps))))
      (local.set $x1 (f32x4.sub (local.get $x1) (f32x4.mul (local.get $n1) (local.get $steps))))
      (local.set $x2 (f32x4.sub (local.get $x2) (f32x4.mul (local.get $n2) (local.get $steps))))
      (local.set $x3 (f32x4.sub (local.get $x3) (f32x4.mul (local.get $n3) (local.get $steps))))
      (local.set $wrong (f32x4.add (local.get $wrong)
        (f32x4.add
          (f32x4.add (f32x4.mul (local.get $x0) (local.get $x0)) (f32x4.mul (local.get $x1) (local.get $x1)))
          (f32x4.add (f32x4.mul (local.get $x2) (local.get $x2)) (f32x4.mul (local.get $x3) (local.get $x3))))))
      (local.set $row (i32.add (local.get $row) (i32.const 16)))
      (br_if $codes (i32.ne (local.tee $p (i32.add (local.get $p) (i32.const 64))) (local.get $end))))
    (f32.store (local.get $row) (local.get $scale))
    (f32.store offset=4 (local.get $row) (f32.sqrt (call $sum (local.get $wrong)))))

  ;; A query of `width` f32 (padded with zeros) as i16 codes, of which the largest is `most` steps; gives the step, 0 for a
  ;; query of zeros.
  (func (export "encodeI16") (param $vector i32) (param $width i32) (param $most f64) (param $codes i32) (result f64)
    (local $p i32) (local $end i32) (local $max v128) (local $step f64) (local $steps v128) (local $x v128)
    (local.set $p (local.get $vector))
    (local.set $end (i32.add (local.get $vector) (i32.shl (local.get $width) (i32.const 2))))
    (loop $largest
      (local.set $max (f32x4.max (local.get $max) (f32x4.abs (v128.load (local.get $p)))))
      (br_if $largest (i32.ne (local.tee $p (i32.add (local.get $p) (i32.const 16))) (local.get $end))))
    (local.set $step (f64.div
      (f64.promote_f32 (f32.max
        (f32.max (f32x4.extract_lane 0 (local.get $max)) (f32x4.extract_lane 1 (local.get $max)))
        (f32.max (f32x4.extract_lane 2 (local.get $max)) (f32x4.extract_lane 3 (local.get $max)))))
      (local.get $most)))
    (local.set $steps (f64x2.splat (local.get $step)))
    (local.set $p (local.get $vector))
    ;; 0 divided by 0 is no number, which becomes the code 0.
    (loop $codes4
      (local.set $x (v128.load (local.get $p)))
      (local.set $x (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
        (i32x4.trunc_sat_f64x2_s_zero
          (f64x2.nearest (f64x2.div (f64x2.promote_low_f32x4 (local.get $x)) (local.get $steps))))
        (i32x4.trunc_sat_f64x2_s_zero
          (f64x2.nearest (f64x2.div
            (f64x2.promote_low_f32x4 (i8x16.shuffle 8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15 (local.get $x) (local.get $x)))
            (local.get $steps))))))
      (v128.store64_lane 0 (local.get $codes) (i16x8.narrow_i32x4_s (local.get $x) (local.get $x)))
      (local.set $codes (i32.add (local.get $codes) (i32.const 8)))
      (br_if $codes4 (i32.ne (local.tee $p (i32.add (local.get $p) (i32.const 16))) (local.get $end))))
    (local.get $step)))
