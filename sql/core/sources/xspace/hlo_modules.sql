-- One row per compiled program that an XSpace (.xplane.pb) of JAX or TensorFlow holds: its HLO.
--
-- The text is for people: computations, instructions, shapes with layouts, operands, and where each
-- is from. It omits literals, windows, dimension numbers and settings of back ends, so XLA's own
-- parser does not accept it.
--
-- key: trace_id, module_id
--
-- trace_id           VARCHAR  trace
-- module_id          BIGINT   event_id of the row that holds it
-- program            VARCHAR  program: the module's name without its number
-- program_number     VARCHAR  XLA's number of it, as in hlo_ops and in programs.fingerprint
-- entry              VARCHAR  computation that it begins with
-- computation_count  BIGINT   computations
-- instruction_count  BIGINT   instructions of all of them
-- proto_bytes        BIGINT   size of the HLO proto in the file, bytes
-- is_whole           BOOLEAN  the text has all instructions; programs with more than 8 MiB of text
--                             are cut off
-- text               VARCHAR  HLO
CREATE VIEW hlo_modules AS
SELECT
    trace_id,
    event_id AS module_id,
    args ->> '$.name' AS program,
    args ->> '$.program_id' AS program_number,
    args ->> '$.entry' AS entry,
    TRY_CAST(args ->> '$.computations' AS BIGINT) AS computation_count,
    TRY_CAST(args ->> '$.instructions' AS BIGINT) AS instruction_count,
    TRY_CAST(args ->> '$.proto_bytes' AS BIGINT) AS proto_bytes,
    TRY_CAST(args ->> '$.is_whole' AS BOOLEAN) AS is_whole,
    args ->> '$.text' AS text
FROM events
WHERE lane = 'meta' AND name = 'hlo_module';
