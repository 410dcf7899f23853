// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/big_int.h>
#include <tvm/ffi/function.h>

#include <cmath>
#include <sstream>
#include <utility>

#include "thrown.h"

namespace {

using namespace tvm::ffi;
using detail::BigIntUnsafe;

static_assert(sizeof(BigInt) == 16 && alignof(BigInt) == 8);
static_assert(sizeof(detail::BigIntObj) == 32);
static_assert(std::is_convertible_v<uint64_t, BigInt> && std::is_convertible_v<int8_t, BigInt>);
static_assert(std::is_constructible_v<BigInt, double> && !std::is_convertible_v<double, BigInt>);
static_assert(!std::is_convertible_v<BigInt, int64_t> && !std::is_convertible_v<BigInt, bool>);
static_assert(TypeTraits<BigInt>::field_static_type_index == -1);

BigInt Parse(const std::string& text) {
  std::istringstream in(text);
  BigInt value;
  in >> value;
  CHECK(!in.fail());
  return value;
}

std::string Text(const BigInt& value) {
  std::ostringstream out;
  out << value;
  // Canonical form: the number is inline if it fits into the value; else its words have no
  // redundant sign word.
  BigInt::ArrayView words = BigIntUnsafe::GetArrayView(value);
  CHECK_EQ(BigIntUnsafe::CheckInt64(value), words.size() == 1);
  CHECK_EQ(detail::int_ops::NormalizedSize(words.data(), words.size()), words.size());
  CHECK_EQ(Any(value).type_index(), words.size() == 1 ? 1 : 78);
  return out.str();
}

BigInt Power(int exponent) { return BigInt(1) << exponent; }

struct Row {
  const char *a, *b, *sum, *difference, *product, *quotient, *remainder, *floor, *modulo, *both,
      *either, *one;
};

// Expected results were computed with another arbitrary-precision implementation.
const Row kRows[] = {
    {"9223372036854775808", "-1", "9223372036854775807", "9223372036854775809",
     "-9223372036854775808", "-9223372036854775808", "0", "-9223372036854775808", "0",
     "9223372036854775808", "-1", "-9223372036854775809"},
    {"-9223372036854775808", "-1", "-9223372036854775809", "-9223372036854775807",
     "9223372036854775808", "9223372036854775808", "0", "9223372036854775808", "0",
     "-9223372036854775808", "-1", "9223372036854775807"},
    {"18446744073709551615", "4294967296", "18446744078004518911", "18446744069414584319",
     "79228162514264337589248983040", "4294967295", "4294967295", "4294967295", "4294967295",
     "4294967296", "18446744073709551615", "18446744069414584319"},
    {"10000000000000000000000000000000000000000", "-99999999999999999999",
     "9999999999999999999900000000000000000001", "10000000000000000000099999999999999999999",
     "-999999999999999999990000000000000000000000000000000000000000", "-100000000000000000001", "1",
     "-100000000000000000002", "-99999999999999999998", "9999999999999999999978543373631579226112",
     "-78543373631579226111", "-10000000000000000000057086747263158452223"},
    {"-10000000000000000000000000000000000000000", "10000000000000000007",
     "-9999999999999999999989999999999999999993", "-10000000000000000000010000000000000000007",
     "-100000000000000000070000000000000000000000000000000000000000", "-999999999999999999300",
     "-4900", "-999999999999999999301", "9999999999999995107", "144681436564160512",
     "-9999999999999999999990144681436564160505", "-9999999999999999999990289362873128321017"},
    {"6277101735386680763835789423207666416102355444464034512895",
     "340282366920938463463374607431768211455",
     "6277101735386680764176071790128604879565730051895802724350",
     "6277101735386680763495507056286727952638980837032266301440",
     "213598703592091008239502170616955211459642742062126608918286553603209112090107481997106628421"
     "2225",
     "18446744073709551616", "18446744073709551615", "18446744073709551616", "18446744073709551615",
     "340282366920938463463374607431768211455",
     "6277101735386680763835789423207666416102355444464034512895",
     "6277101735386680763495507056286727952638980837032266301440"},
    {"-1606938044258990275541962092341162602522202993782792835301376", "3",
     "-1606938044258990275541962092341162602522202993782792835301373",
     "-1606938044258990275541962092341162602522202993782792835301379",
     "-4820814132776970826625886277023487807566608981348378505904128",
     "-535646014752996758513987364113720867507400997927597611767125", "-1",
     "-535646014752996758513987364113720867507400997927597611767126", "2", "0",
     "-1606938044258990275541962092341162602522202993782792835301373",
     "-1606938044258990275541962092341162602522202993782792835301373"},
    {"554597137599850363154807652351", "79228162514264337593543950336",
     "633825300114114700748351602687", "475368975085586025561263702015",
     "43939712147706765346850525962374436750202223773654697639936", "6",
     "79228162514264337593543950335", "6", "79228162514264337593543950335", "0",
     "633825300114114700748351602687", "633825300114114700748351602687"},
    {"340282366920938463463374607431768211456", "18446744073709551617",
     "340282366920938463481821351505477763073", "340282366920938463444927863358058659839",
     "6277101735386680764176071790128604879565730051895802724352", "18446744073709551615", "1",
     "18446744073709551615", "1", "0", "340282366920938463481821351505477763073",
     "340282366920938463481821351505477763073"},
    {"-170141183460469231731687303715884105728", "9223372036854775808",
     "-170141183460469231722463931679029329920", "-170141183460469231740910675752738881536",
     "-1569275433846670190958947355801916604025588861116008628224", "-18446744073709551616", "0",
     "-18446744073709551616", "0", "0", "-170141183460469231722463931679029329920",
     "-170141183460469231722463931679029329920"},
    {"170141183420855150493001878992821682176", "39614081266355540842216685573",
     "170141183460469231759357419835038367749", "170141183381241069226646338150604996603",
     "6739986666787659950493630819099101049966154992292347661281130446848", "4294967293",
     "39614081266355540837921718287", "4294967293", "39614081266355540837921718287",
     "39614081257132168796771975168", "170141183420855150502225251038266392581",
     "170141183381241069245093082241494417413"},
    {"191735952591503448727367619147947664587185337082468561936735509924939725473035584224539704",
     "-320810476735481913784214496354586885840863718394360",
     "191735952591503448727367619147947664586864526605733080022951295428585138587194720506145344",
     "191735952591503448727367619147947664587506147559204043850519724421294312358876447942934064",
     "-61510902358211980295106777636554381943638380117911158525779135858100868345130602630132128039"
     "141114126807280289839098435076955338848949669440",
     "-597661131714210279653588213827810902869",
     "234435445265358662948423079162316815535869627120864",
     "-597661131714210279653588213827810902870",
     "-86375031470123250835791417192270070304994091273496",
     "191735952591503448727367619147947664586880610355687801968343833432984305984688097419473928",
     "-16083749954721945392538004399167397493376913328584",
     "-191735952591503448727367619147947664586896694105642523913736371437383473382181474332802512"},
    {"-84553111667161188662956202640386317719006806270019385513262919361740474725507693136688708162"
     "95314510562862578581919818722046768088907134297290291069669592",
     "361332931110172034136786372874511283893",
     "-84553111667161188662956202640386317719006806270019385513262919361740474725507693136688708162"
     "95314510562862578581919457389115657916872997510917416558385699",
     "-84553111667161188662956202640386317719006806270019385513262919361740474725507693136688708162"
     "95314510562862578581920180054977878260941271083663165580953485",
     "-30551823673181037053995928445740853229124133425665592200032590702962706270788812985586604324"
     "605204397354045359867931711755048636175088369848174758212963889461961949904049375226606512112"
     "21481656",
     "-23400333705366191775351423559298779210816585938963097601283068351288594222665178242251288719"
     "841458668641953031189960",
     "-147376758108655420859043235297898355312",
     "-23400333705366191775351423559298779210816585938963097601283068351288594222665178242251288719"
     "841458668641953031189961",
     "213956173001516613277743137576612928581", "6407951011197370116741081047977305632",
     "-84553111667161188662956202640386317719006806270019385513262919361740474725507693136688708162"
     "95314510562862578581919463797066669114243114251998464535691331",
     "-84553111667161188662956202640386317719006806270019385513262919361740474725507693136688708162"
     "95314510562862578581919470205017680311613230993079512512996963"},
};

TEST_CASE("decimal text of any length") {
  for (const char* pattern :
       {"1", "9", "1000000000", "4294967296", "123456789", "18446744073709551616"}) {
    std::string text;
    while (text.size() < 60) {
      text += pattern;
      for (size_t size = 1; size <= text.size(); ++size) {
        CHECK_EQ(Text(Parse(text.substr(0, size))), text.substr(0, size));
      }
    }
    CHECK_EQ(Text(Parse("000000000" + text)), text);
    CHECK_EQ(Text(Parse("-" + text)), "-" + text);
  }
}

TEST_CASE("arithmetic") {
  for (const Row& row : kRows) {
    BigInt a = Parse(row.a);
    BigInt b = Parse(row.b);
    CHECK_EQ(Text(a), row.a);
    CHECK_EQ(Text(b), row.b);
    CHECK_EQ(Text(a + b), row.sum);
    CHECK_EQ(Text(a - b), row.difference);
    CHECK_EQ(Text(a * b), row.product);
    CHECK_EQ(Text(b * a), row.product);
    CHECK_EQ(Text(a / b), row.quotient);
    CHECK_EQ(Text(a % b), row.remainder);
    CHECK_EQ(Text(truncdiv(a, b)), row.quotient);
    CHECK_EQ(Text(truncmod(a, b)), row.remainder);
    CHECK_EQ(Text(floordiv(a, b)), row.floor);
    CHECK_EQ(Text(floormod(a, b)), row.modulo);
    CHECK_EQ(Text(a & b), row.both);
    CHECK_EQ(Text(a | b), row.either);
    CHECK_EQ(Text(a ^ b), row.one);
    CHECK_EQ(Text(-a), Text(0 - a));
    CHECK_EQ(Text(~a), Text(-a - 1));
    CHECK_EQ(Text(a - a), "0");
    CHECK_EQ(a < b, a - b < 0);
    CHECK_EQ(a > b, a - b > 0);
    CHECK((min(a, b) <= max(a, b) && min(a, b) + max(a, b) == a + b));
  }
}

TEST_CASE("small arithmetic") {
  BigInt a = 7;
  CHECK_EQ(Text(a / -2), "-3");
  CHECK_EQ(Text(a % -2), "1");
  CHECK_EQ(Text(floordiv(a, -2)), "-4");
  CHECK_EQ(Text(floormod(a, -2)), "-1");
  CHECK_EQ(Text(floormod(-a, 2)), "1");
  CHECK_EQ(Text(5 - a), "-2");
  CHECK((a == 7 && 8 > a && a != INT64_MIN));
  BigInt big = INT64_MAX;
  CHECK_EQ(Text(++big), "9223372036854775808");
  CHECK_EQ(Text(big--), "9223372036854775808");
  CHECK_EQ(Text(big), "9223372036854775807");
  CHECK_EQ(Text(BigInt(INT64_MIN) - 1), "-9223372036854775809");
  CHECK_EQ(Text(-BigInt(INT64_MIN)), "9223372036854775808");
  big += 1;
  big *= big;
  big -= 1;
  big /= 2;
  CHECK_EQ(Text(big), "42535295865117307932921825928971026431");
  big %= 10;
  CHECK_EQ(Text(big), "1");
}

TEST_CASE("shifts") {
  CHECK_EQ(Text(Power(100)), "1267650600228229401496703205376");
  CHECK_EQ(Text(Power(63)), "9223372036854775808");
  CHECK_EQ(Text(-Power(63)), "-9223372036854775808");
  CHECK_EQ(Text(BigInt(-1) << 64), "-18446744073709551616");
  for (int shift : {0, 1, 31, 63, 64, 65, 128, 200}) {
    CHECK((Power(200) >> shift == Power(200 - shift)));
    CHECK(((-Power(200) - 1) >> shift == -Power(200 - shift) - 1));
    CHECK((BigInt(-5) << shift) == -5 * Power(shift));
  }
  CHECK_EQ(Text(BigInt(-1) >> 1000), "-1");
  CHECK_EQ(Text(Power(200) >> 1000), "0");
  CHECK_EQ(Text(Power(200) >> Power(70)), "0");
  CHECK_EQ(Text(BigInt(0) << Power(70)), "0");
  CHECK_EQ(Thrown([] { (void)(BigInt(1) << -1); }), "ValueError: Negative BigInt shift count");
  CHECK_EQ(Thrown([] { (void)(BigInt(1) >> -Power(70)); }),
           "ValueError: Negative BigInt shift count");
  CHECK_EQ(Thrown([] { (void)(BigInt(1) << Power(70)); }),
           "OverflowError: BigInt shift count is too large");
}

TEST_CASE("division") {
  CHECK_EQ(Thrown([] { (void)(BigInt(1) / 0); }), "ZeroDivisionError: Division by zero");
  CHECK_EQ(Thrown([] { (void)(Power(99) % 0); }), "ZeroDivisionError: Division by zero");
  CHECK_EQ(Thrown([] { (void)floormod(Power(99), 0); }), "ZeroDivisionError: Division by zero");
  // Operands of long runs of ones and zeros make the estimated quotient digits too large.
  uint64_t state = 1;
  auto next = [&](int bits) {
    BigInt value = 0;
    for (int i = 0; i < bits; i += 16) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      int pick = static_cast<int>(state >> 61);
      value = value << 16 | (pick < 3 ? 0 : pick < 6 ? 0xFFFF : static_cast<int>(state >> 48));
    }
    return (state >> 40 & 1) != 0 ? -value : value;
  };
  for (int round = 0; round < 2000; ++round) {
    BigInt a = next(16 * (1 + round % 37));
    BigInt b = next(16 * (1 + round % 23));
    if (!b) continue;
    BigInt quotient = a / b;
    BigInt remainder = a % b;
    CHECK(quotient * b + remainder == a);
    CHECK(max(remainder, -remainder) < max(b, -b));
    CHECK((!remainder || (remainder < 0) == (a < 0)));
  }
}

TEST_CASE("conversions") {
  CHECK_EQ(Text(UINT64_MAX), "18446744073709551615");
  CHECK_EQ(Text(INT64_MIN), "-9223372036854775808");
  CHECK_EQ(static_cast<int64_t>(BigInt(-4)), -4);
  CHECK((static_cast<bool>(Power(64)) && !static_cast<bool>(BigInt())));
  CHECK_EQ(Thrown([] { (void)static_cast<int64_t>(Power(63)); }),
           "OverflowError: BigInt does not fit int64_t");
  CHECK(BigInt(UINT64_MAX).as<uint64_t>() == UINT64_MAX);
  CHECK(!Power(64).as<uint64_t>().has_value());
  CHECK(!BigInt(-1).as<uint64_t>().has_value());
  CHECK(!Power(63).as<int64_t>().has_value());
  CHECK(BigInt(-128).as<int8_t>() == int8_t{-128});
  CHECK(!BigInt(128).as<int8_t>().has_value());
  CHECK(!BigInt(-1).as<uint8_t>().has_value());
}

TEST_CASE("doubles") {
  CHECK_EQ(Text(BigInt(-3.99)), "-3");
  CHECK_EQ(Text(BigInt(9223372036854775808.0)), "9223372036854775808");
  CHECK_EQ(Text(BigInt(-9223372036854775808.0)), "-9223372036854775808");
  CHECK_EQ(Text(BigInt(1e30)), "1000000000000000019884624838656");
  CHECK_EQ(Text(BigInt(-1e30)), "-1000000000000000019884624838656");
  CHECK(static_cast<double>(BigInt(1.7976931348623157e308)) == 1.7976931348623157e308);
  CHECK(static_cast<double>(Power(1000)) == std::ldexp(1.0, 1000));
  CHECK(static_cast<double>(-Power(64)) == -18446744073709551616.0);
  // Halfway values round to even, values above round up.
  CHECK(static_cast<double>(Power(100) + Power(47)) == std::ldexp(1.0, 100));
  CHECK(static_cast<double>(Power(100) + Power(47) + 1) ==
        std::nextafter(std::ldexp(1.0, 100), HUGE_VAL));
  CHECK_EQ(Thrown([] { (void)static_cast<double>(Power(1024)); }),
           "OverflowError: BigInt does not fit finite double");
  CHECK_EQ(Thrown([] { (void)static_cast<double>(-Power(5000)); }),
           "OverflowError: BigInt does not fit finite double");
  CHECK_EQ(Thrown([] { (void)static_cast<double>(Power(1024) - 1); }),
           "OverflowError: BigInt does not fit finite double");
  CHECK_EQ(Thrown([] { (void)BigInt(std::nan("")); }), "ValueError: Cannot convert NaN to BigInt");
  CHECK_EQ(Thrown([] { (void)BigInt(-HUGE_VAL); }),
           "OverflowError: Cannot convert infinity to BigInt");
}

TEST_CASE("streams") {
  std::istringstream in("  -00123456789012345678901234567890x +7 z");
  BigInt value;
  in >> value;
  CHECK_EQ(Text(value), "-123456789012345678901234567890");
  CHECK_EQ(in.get(), 'x');
  in >> value;
  CHECK_EQ(Text(value), "7");
  in >> value;
  CHECK(in.fail());
  CHECK_EQ(Text(value), "7");
  CHECK_EQ(Text(Parse("1000000000000000000000000000")), "1000000000000000000000000000");
  CHECK_EQ(Thrown([] { TVM_FFI_THROW(ValueError) << Power(64) << "!"; }),
           "ValueError: 18446744073709551616!");
}

TEST_CASE("any traits") {
  Any any = Power(100);
  CHECK_EQ(any.GetTypeKey(), "ffi.BigInt");
  CHECK(any.as<BigInt>() == Power(100));
  CHECK(!any.as<int64_t>().has_value());
  CHECK_EQ(Any(BigInt(5)).GetTypeKey(), "int");
  CHECK(Any(5).as<BigInt>() == BigInt(5));
  CHECK(!Any(true).as<BigInt>().has_value());
  CHECK(Any(true).cast<BigInt>() == 1);
  CHECK_EQ(Thrown([] { (void)Any(1.5).cast<BigInt>(); }),
           "TypeError: Cannot convert from type `float` to `BigInt`");
  CHECK(std::move(any).cast<BigInt>() == Power(100));
  CHECK(any == nullptr);
  CHECK_EQ(TypeTraits<BigInt>::TypeStr(), "BigInt");
  CHECK_EQ(TypeTraits<BigInt>::TypeSchema(), "{\"type\":\"ffi.BigInt\"}");
  Function twice = Function::FromTyped([](BigInt x) { return x * 2; });
  CHECK(twice(Power(63)).cast<BigInt>() == Power(64));
  CHECK(twice(-Power(62)).cast<int64_t>() == INT64_MIN);
}

TEST_CASE("big integers created by the runtime") {
  int64_t words[] = {0, 1, 0, 0};
  TVMFFIByteArray bytes{reinterpret_cast<const char*>(words), sizeof(words)};
  TVMFFIAny raw;
  CHECK_EQ(TVMFFIBigIntFromByteArray(&bytes, &raw), 0);
  BigInt value = detail::AnyUnsafe::MoveTVMFFIAnyToAny(&raw).cast<BigInt>();
  CHECK_EQ(Text(value), "18446744073709551616");
  BigInt mine = Power(64);
  CHECK(mine == value);
  CHECK_EQ(mine.hash(), value.hash());
  CHECK_EQ(std::hash<BigInt>()(mine), static_cast<size_t>(mine.hash()));
  TVMFFIAny view;
  TypeTraits<BigInt>::CopyToAnyView(mine, &view);
  TVMFFIByteArray content = TVMFFIBigIntGetContentByteArray(&view);
  CHECK_EQ(content.size, 16);
  CHECK_EQ(std::memcmp(content.data, words, 16), 0);
  // Hashes that published binaries compute for keys.
  CHECK_EQ(detail::StableHashCombine(78, Power(63).hash()), 0x9e3794fcu);
  CHECK_EQ(detail::StableHashCombine(78, (-Power(63) - 1).hash()), 0x9e3790b0u);
  CHECK_EQ(detail::StableHashCombine(78, Power(100).hash()), 0x9e378d22u);
}

// Big integers use the runtime's hash and equality hooks: without the hooks, equal integers were
// different keys.
TEST_CASE("equal integers are one key") {
  CHECK_EQ(AnyHash()(Any(Power(63))), 0x9e3794fcu);
  CHECK_EQ(AnyHash()(Any(-Power(63) - 1)), 0x9e3790b0u);
  CHECK_EQ(AnyHash()(Any(Power(100))), 0x9e378d22u);
  CHECK(AnyEqual()(Any(Power(100)), Any(Power(100))));
  CHECK(!AnyEqual()(Any(Power(100)), Any(Power(101))));
  CHECK(!AnyEqual()(Any(Power(100)), Any(Power(200))));
}

TEST_CASE("ownership") {
  BigInt a = Power(70);
  BigInt b = a;
  std::swap(a, b);
  swap(a, b);
  BigInt c = std::move(a);
  CHECK_EQ(Text(a), "0");
  CHECK(c == b);
  b = static_cast<const BigInt&>(b);
  b = std::move(c);
  CHECK(b == Power(70));
  BigInt built = BigIntUnsafe::Allocate(3);
  int64_t* words = BigIntUnsafe::GetMutableData(&built);
  words[0] = -5;
  words[1] = words[2] = -1;
  BigIntUnsafe::Normalize(&built);
  CHECK_EQ(Text(built), "-5");
  CHECK_EQ(BigIntUnsafe::GetInt64(built), -5);
  CHECK(detail::int_ops::IsNegative(BigIntUnsafe::GetArrayView(built)));
  CHECK(detail::int_ops::IsNormalizedZero(BigIntUnsafe::GetArrayView(BigInt())));
}

TEST_CASE("numbers are built from words and divided as words") {
  ObjectPtr<detail::BigIntObj> object =
      make_inplace_array_object<detail::BigIntObj, int64_t>(3, size_t{3});
  int64_t* words = BigIntUnsafe::GetMutableData(object);
  words[0] = 1;
  words[1] = 2;
  words[2] = 0;
  CHECK_EQ(BigIntUnsafe::GetArrayView(object).size(), 3);
  BigIntUnsafe::ShrinkSize(object, 2);
  CHECK_EQ(BigIntUnsafe::GetArrayView(object).size(), 2);
  BigInt wide = BigIntUnsafe::Normalize(object);
  CHECK_EQ(Text(wide), "36893488147419103233");  // 2 * 2**64 + 1
  words[1] = 0;
  CHECK_EQ(BigIntUnsafe::GetInt64(BigIntUnsafe::Normalize(object)), 1);

  auto check = [](BigInt a, BigInt b, const char* quotient, const char* remainder) {
    auto result = detail::int_ops::DivRemFallback(BigIntUnsafe::GetArrayView(a),
                                                  BigIntUnsafe::GetArrayView(b));
    CHECK_EQ(Text(result.first), quotient);
    CHECK_EQ(Text(result.second), remainder);
  };
  check(7, 2, "3", "1");
  check(-7, 2, "-3", "-1");
  check(INT64_MIN, -1, "9223372036854775808", "0");
  check(7, Power(70), "0", "7");
  check(Power(70), Power(65), "32", "0");
  BigInt large = Power(70);
  auto by_word = detail::int_ops::DivRemFallback(BigIntUnsafe::GetArrayView(large), -1000);
  CHECK_EQ(Text(by_word.first), "-1180591620717411303");
  CHECK_EQ(Text(by_word.second), "424");
  CHECK_EQ(Thrown([&] { detail::int_ops::DivRemFallback(BigIntUnsafe::GetArrayView(large), 0); }),
           "ZeroDivisionError: Division by zero");
}

TEST_CASE("a word and a raw value are read as numbers") {
  int64_t word = -7;
  CHECK(BigIntUnsafe::CheckInt64(word));
  CHECK_EQ(BigIntUnsafe::GetInt64(word), -7);
  CHECK_EQ(BigIntUnsafe::GetArrayView(word).size(), 1);
  CHECK_EQ(BigIntUnsafe::GetArrayView(word)[0], -7);
  Any small = 5;
  Any wide = Power(70);
  CHECK_EQ(BigIntUnsafe::GetArrayView(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(small))[0], 5);
  CHECK_EQ(BigIntUnsafe::GetArrayView(detail::AnyUnsafe::TVMFFIAnyPtrFromAny(wide))[1], 64);
}

// Results of ==, !=, <, >, <= and >= as one string.
template <typename A, typename B>
std::string Compared(const A& a, const B& b) {
  std::string text;
  for (bool holds : {a == b, a != b, a<b, a> b, a <= b, a >= b}) text += holds ? '1' : '0';
  return text;
}

TEST_CASE("floating-point numbers are compared by their exact value") {
  const BigInt five = 5;
  const std::string equal = "100011", less = "011010", greater = "010101", unordered = "010000";
  CHECK_EQ(Compared(five, 5.0), equal);
  CHECK_EQ(Compared(5.0f, five), equal);
  CHECK_EQ(Compared(five, 5.5), less);
  CHECK_EQ(Compared(5.5, five), greater);
  CHECK_EQ(Compared(five, 4.5), greater);
  CHECK_EQ(Compared(-five, -5.5), greater);
  CHECK_EQ(Compared(BigInt(1) << 100, std::ldexp(1.0, 100)), equal);
  CHECK_EQ(Compared((BigInt(1) << 100) + 1, std::ldexp(1.0, 100)), greater);
  CHECK_EQ(Compared(BigInt(INT64_MAX), 9223372036854775808.0), less);
  CHECK_EQ(Compared(five, 1e300), less);
  CHECK_EQ(Compared(five, -1e300), greater);
  CHECK_EQ(Compared(five, HUGE_VAL), less);
  CHECK_EQ(Compared(-HUGE_VAL, five), less);
  CHECK_EQ(Compared(five, std::nan("")), unordered);
  CHECK_EQ(Compared(std::nan(""), five), unordered);
}

TEST_CASE("every arithmetic type is compared in both orders") {
  const BigInt one = 1;
  CHECK((one == true && true == one && one < 2u && 2u > one && one <= short{1} && 'a' > one));
  CHECK((one == uint64_t{1} && 1ull == one && one != int8_t{2} && 2LL >= one));
}

TEST_CASE("an in-place operation through the pointer changes the number") {
  BigInt value = 3;
  BigInt* pointer = &value;
  *pointer += 4;
  *pointer <<= 70;
  *pointer |= 1;
  ++*pointer;
  *pointer >>= 69;
  CHECK_EQ(value, 14);
  CHECK((~*pointer == -15 && -*pointer == -14 && +*pointer == 14));
}

}  // namespace
