;; Vectors as one bit a component: 1 where it is above the mean of the collection.
(module
  (import "arena" "memory" (memory 1 65536 shared))

  ;; Writes the bits of one row of codes (see i8.wat), `width / 8` bytes. `mean`: `width` f32.
  (func (export "encodeBits") (param $codes i32) (param $width i32) (param $mean i32) (param $bits i32)
    (local $end i32) (local $scale v128) (local $low v128) (local $high v128)
    (local.set $end (i32.add (local.get $codes) (local.get $width)))
    (local.set $scale (v128.load32_splat (local.get $end)))
    (loop $codes16
      (local.set $low (v128.load8x8_s (local.get $codes)))
      (local.set $high (v128.load8x8_s offset=8 (local.get $codes)))
      (i32.store16 (local.get $bits)
        (i8x16.bitmask
          (i8x16.narrow_i16x8_s
            (i16x8.narrow_i32x4_s
              (f32x4.gt
                (f32x4.mul (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $low))) (local.get $scale))
                (v128.load (local.get $mean)))
              (f32x4.gt
                (f32x4.mul (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $low))) (local.get $scale))
                (v128.load offset=16 (local.get $mean))))
            (i16x8.narrow_i32x4_s
              (f32x4.gt
                (f32x4.mul (f32x4.convert_i32x4_s (i32x4.extend_low_i16x8_s (local.get $high))) (local.get $scale))
                (v128.load offset=32 (local.get $mean)))
              (f32x4.gt
                (f32x4.mul (f32x4.convert_i32x4_s (i32x4.extend_high_i16x8_s (local.get $high))) (local.get $scale))
                (v128.load offset=48 (local.get $mean)))))))
      (local.set $bits (i32.add (local.get $bits) (i32.const 2)))
      (local.set $mean (i32.add (local.get $mean) (i32.const 64)))
      (br_if $codes16 (i32.ne (local.tee $codes (i32.add (local.get $codes) (i32.const 16))) (local.get $end)))))

  ;; Bits that differ between a query and each of `count` rows of `width` bytes (a multiple of 16), which follow each other;
  ;; `out`: one i32 a row; `counts`: how many rows have each distance, added to.
  (func (export "differingBits")
    (param $query i32) (param $rows i32) (param $count i32) (param $width i32) (param $out i32) (param $counts i32)
    (local $q i32) (local $end i32) (local $a i64) (local $b i64) (local $bits i32)
    (local $q0 i64) (local $q1 i64) (local $q2 i64) (local $q3 i64)
    (if (i32.eqz (local.get $count)) (then (return)))
    ;; Heads: no loop within, the query in registers.
    (if (i32.eq (local.get $width) (i32.const 32)) (then
      (local.set $q0 (i64.load (local.get $query)))
      (local.set $q1 (i64.load offset=8 (local.get $query)))
      (local.set $q2 (i64.load offset=16 (local.get $query)))
      (local.set $q3 (i64.load offset=24 (local.get $query)))
      (loop $head
        (i32.store (local.get $out) (local.tee $bits (i32.wrap_i64
          (i64.add
            (i64.add
              (i64.popcnt (i64.xor (i64.load (local.get $rows)) (local.get $q0)))
              (i64.popcnt (i64.xor (i64.load offset=8 (local.get $rows)) (local.get $q1))))
            (i64.add
              (i64.popcnt (i64.xor (i64.load offset=16 (local.get $rows)) (local.get $q2)))
              (i64.popcnt (i64.xor (i64.load offset=24 (local.get $rows)) (local.get $q3))))))))
        (local.set $bits (i32.add (local.get $counts) (i32.shl (local.get $bits) (i32.const 2))))
        (i32.store (local.get $bits) (i32.add (i32.load (local.get $bits)) (i32.const 1)))
        (local.set $rows (i32.add (local.get $rows) (i32.const 32)))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (br_if $head (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
      (return)))
    (local.set $end (i32.add (local.get $query) (local.get $width)))
    (loop $row
      (local.set $q (local.get $query))
      (local.set $a (i64.const 0))
      (local.set $b (i64.const 0))
      (loop $words
        (local.set $a (i64.add (local.get $a)
          (i64.popcnt (i64.xor (i64.load (local.get $rows)) (i64.load (local.get $q))))))
        (local.set $b (i64.add (local.get $b)
          (i64.popcnt (i64.xor (i64.load offset=8 (local.get $rows)) (i64.load offset=8 (local.get $q))))))
        (local.set $rows (i32.add (local.get $rows) (i32.const 16)))
        (br_if $words (i32.ne (local.tee $q (i32.add (local.get $q) (i32.const 16))) (local.get $end))))
      (i32.store (local.get $out) (local.tee $bits (i32.wrap_i64 (i64.add (local.get $a) (local.get $b)))))
      (local.set $bits (i32.add (local.get $counts) (i32.shl (local.get $bits) (i32.const 2))))
      (i32.store (local.get $bits) (i32.add (i32.load (local.get $bits)) (i32.const 1)))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (br_if $row (local.tee $count (i32.sub (local.get $count) (i32.const 1))))))

  ;; As `differingBits`, of rows anywhere; `addresses`: one i32 a row. Of sixteen rows at a time one byte at each end is read
  ;; first: memory is waited for once for all of them.
  (func (export "differingBitsAt")
    (param $query i32) (param $addresses i32) (param $count i32) (param $width i32) (param $out i32) (param $counts i32)
    (local $rows i32) (local $q i32) (local $end i32) (local $a i64) (local $b i64) (local $bits i32)
    (local $batch i32) (local $ahead i32) (local $touched i32)
    (if (i32.eqz (local.get $count)) (then (return)))
    (local.set $end (i32.add (local.get $query) (local.get $width)))
    (local.set $count (i32.add (local.get $addresses) (i32.shl (local.get $count) (i32.const 2))))
    (loop $batches
      (local.set $ahead (local.get $addresses))
      (local.set $batch (i32.add (local.get $addresses) (i32.const 64)))
      (if (i32.gt_u (local.get $batch) (local.get $count)) (then (local.set $batch (local.get $count))))
      (loop $touch
        (local.set $rows (i32.load (local.get $ahead)))
        (local.set $touched (i32.add (local.get $touched) (i32.add
          (i32.load8_u (local.get $rows))
          (i32.load8_u (i32.add (local.get $rows) (i32.sub (local.get $width) (i32.const 1)))))))
        (br_if $touch (i32.ne (local.tee $ahead (i32.add (local.get $ahead) (i32.const 4))) (local.get $batch))))
      ;; Written over below; a sum that goes nowhere would not be made.
      (i32.store (local.get $out) (local.get $touched))
      (loop $row
        (local.set $rows (i32.load (local.get $addresses)))
        (local.set $q (local.get $query))
        (local.set $a (i64.const 0))
        (local.set $b (i64.const 0))
        (loop $words
          (local.set $a (i64.add (local.get $a)
            (i64.popcnt (i64.xor (i64.load (local.get $rows)) (i64.load (local.get $q))))))
          (local.set $b (i64.add (local.get $b)
            (i64.popcnt (i64.xor (i64.load offset=8 (local.get $rows)) (i64.load offset=8 (local.get $q))))))
          (local.set $rows (i32.add (local.get $rows) (i32.const 16)))
          (br_if $words (i32.ne (local.tee $q (i32.add (local.get $q) (i32.const 16))) (local.get $end))))
        (i32.store (local.get $out) (local.tee $bits (i32.wrap_i64 (i64.add (local.get $a) (local.get $b)))))
        (local.set $bits (i32.add (local.get $counts) (i32.shl (local.get $bits) (i32.const 2))))
        (i32.store (local.get $bits) (i32.add (i32.load (local.get $bits)) (i32.const 1)))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (br_if $row (i32.ne
          (local.tee $addresses (i32.add (local.get $addresses) (i32.const 4)))
          (local.get $batch))))
      (br_if $batches (i32.ne (local.get $addresses) (local.get $count)))))

  ;; Of `count` distances, one i32 each, those below `edge` and the first ones that are it: writes their numbers, from `first`
  ;; on, over the distances. Gives how many these are. `room`: place of an i32, how many may be it; less those that were.
  (func (export "pickNearest")
    (param $distances i32) (param $count i32) (param $first i32) (param $edge i32) (param $room i32) (result i32)
    (local $edges v128) (local $left i32) (local $start i32) (local $end i32) (local $out i32) (local $distance i32)
    (local $isEdge i32) (local $near i32) (local $bit i32)
    (local.set $start (local.get $distances))
    (local.set $left (i32.load (local.get $room)))
    (local.set $out (local.get $distances))
    (local.set $end (i32.add (local.get $distances) (i32.shl (local.get $count) (i32.const 2))))
    (local.set $edges (i32x4.splat (local.get $edge)))
    (block $done (loop $rows16
      (br_if $done (i32.ge_u (local.get $distances) (local.get $end)))
      ;; One bit for each of sixteen rows that is near enough. Most are too far.
      (if (i32.le_u (i32.add (local.get $distances) (i32.const 64)) (local.get $end))
        (then
          (local.set $near (i8x16.bitmask
            (i8x16.narrow_i16x8_s
              (i16x8.narrow_i32x4_s
                (i32x4.le_u (v128.load (local.get $distances)) (local.get $edges))
                (i32x4.le_u (v128.load offset=16 (local.get $distances)) (local.get $edges)))
              (i16x8.narrow_i32x4_s
                (i32x4.le_u (v128.load offset=32 (local.get $distances)) (local.get $edges))
                (i32x4.le_u (v128.load offset=48 (local.get $distances)) (local.get $edges)))))))
        (else
          (local.set $near (i32.const 0))
          (local.set $bit (i32.shr_u (i32.sub (local.get $end) (local.get $distances)) (i32.const 2)))
          (loop $last
            (local.set $bit (i32.sub (local.get $bit) (i32.const 1)))
            (local.set $near (i32.or
              (i32.shl (local.get $near) (i32.const 1))
              (i32.le_u
                (i32.load (i32.add (local.get $distances) (i32.shl (local.get $bit) (i32.const 2))))
                (local.get $edge))))
            (br_if $last (local.get $bit)))))
      (block $looked (loop $row
        (br_if $looked (i32.eqz (local.get $near)))
        (local.set $bit (i32.ctz (local.get $near)))
        (local.set $near (i32.and (local.get $near) (i32.sub (local.get $near) (i32.const 1))))
        (local.set $distance (i32.load (i32.add (local.get $distances) (i32.shl (local.get $bit) (i32.const 2)))))
        (local.set $isEdge (i32.eq (local.get $distance) (local.get $edge)))
        (i32.store (local.get $out) (i32.add (local.get $first) (local.get $bit)))
        (local.set $out (i32.add (local.get $out)
          (i32.shl
            (i32.or (i32.eqz (local.get $isEdge)) (i32.gt_s (local.get $left) (i32.const 0)))
            (i32.const 2))))
        (local.set $left (i32.sub (local.get $left) (local.get $isEdge)))
        (br $row)))
      (local.set $distances (i32.add (local.get $distances) (i32.const 64)))
      (local.set $first (i32.add (local.get $first) (i32.const 16)))
      (br $rows16)))
    (i32.store (local.get $room) (local.get $left))
    (i32.shr_u (i32.sub (local.get $out) (local.get $start)) (i32.const 2))))
