// Polynomials of the math functions, lowest power first. Printed by scripts/math_coefficients.py: do not edit.
#ifndef KILN_KERNEL_MATH_COEFFICIENTS_H_
#define KILN_KERNEL_MATH_COEFFICIENTS_H_

#include <cstdint>

namespace kiln::kernel::math {

// (e^r - 1 - r) / r^2, |r| <= ln(2) / 2, relative to expm1; error 2^-26.17.
inline constexpr double kExpF32[] = {0x1p-1, 0x1.5554bp-3, 0x1.555486p-5, 0x1.1227e6p-7, 0x1.6d996ap-10};
// The same; error 2^-61.73.
inline constexpr double kExpF64[] = {0x1p-1, 0x1.5555555555559p-3, 0x1.555555555555ap-5, 0x1.111111110f6b4p-7,
    0x1.6c16c16c14459p-10, 0x1.a01a01afe2a43p-13, 0x1.a01a01b0b7649p-16, 0x1.71ddf85aa3dep-19, 0x1.27e4c59f64351p-22,
    0x1.af5eb1a557a45p-26, 0x1.1f9563884255p-29};
// (2^r - 1 - r ln 2) / r^2, |r| <= 1/2; error 2^-28.25.
inline constexpr double kExp2F32[] = {0x1.ebfbep-3, 0x1.c6af86p-5, 0x1.3b29d4p-7, 0x1.5f05acp-10, 0x1.44768cp-13};
// The same; error 2^-58.01.
inline constexpr double kExp2F64[] = {0x1.ebfbdff82c5a5p-3, 0x1.c6b08d704a0cfp-5, 0x1.3b2ab6fb9ffe6p-7,
    0x1.5d87fe78a1d2p-10, 0x1.4309130f17517p-13, 0x1.ffcbfc79126d3p-17, 0x1.62bfc701bdddfp-20, 0x1.b524d3188e3dap-24,
    0x1.e61c568a8c5d9p-28, 0x1.ea11ea301099ep-32};
// As kExpF64, for f32 results computed in f64; error 2^-37.47.
inline constexpr double kExpReducedF64[] = {0x1.fffffffff49a7p-2, 0x1.5555557380f68p-3, 0x1.5555557c8a78p-5,
    0x1.1110b1d09a3f6p-7, 0x1.6c163982788ebp-10, 0x1.a16fdaf59b84ep-13, 0x1.a174ae090e72dp-16};
// (log(1+f) - f + f^2/2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2); error 2^-27.34.
inline constexpr double kLogF32[] = {0x1.55554ap-2, -0x1.00022p-2, 0x1.99a594p-3, -0x1.54789ap-3, 0x1.226e76p-3,
    -0x1.0ce01p-3, 0x1.07cfccp-3, -0x1.41edaep-4};
// (2 atanh(s) - 2s) / s^3 in s^2, |s| <= (sqrt(2)-1) / (sqrt(2)+1); error 2^-59.5.
inline constexpr double kLogF64[] = {0x1.5555555555592p-1, 0x1.999999997ff03p-2, 0x1.24924941df0a4p-2,
    0x1.c71c5217da851p-3, 0x1.74663bfacfaccp-3, 0x1.39a205296de5bp-3, 0x1.2f02802e42562p-3};
// The same, for f32 results computed in f64; error 2^-37.61.
inline constexpr double kLogReducedF64[] = {0x1.555554fddea41p-1, 0x1.999a7a1df3c4dp-2, 0x1.2438f107a3fc4p-2,
    0x1.e2f2d0bc75d8ap-3};
// (2 atanh(s) - 2s - 2s^3/3) / s^5 in s^2; error 2^-66.29.
inline constexpr double kPowLogF64[] = {0x1.9999999999b2fp-2, 0x1.2492492458003p-2, 0x1.c71c722d2d402p-3,
    0x1.745ce9f64dbe3p-3, 0x1.3b1ee8b95865bp-3, 0x1.0f803506eaa8p-3, 0x1.0e3fffd92085bp-3};
// (sin(r) - r) / r^3 in r^2, |r| <= pi/4; error 2^-27.96.
inline constexpr double kSinF32[] = {-0x1.555546p-3, 0x1.110732p-7, -0x1.994074p-13};
// The same; error 2^-68.72.
inline constexpr double kSinF64[] = {-0x1.5555555555555p-3, 0x1.111111111110bp-7, -0x1.a01a01a018a36p-13,
    0x1.71de3a532c0bap-19, -0x1.ae6452878bdd8p-26, 0x1.6120886f4e1b9p-33, -0x1.aaa057ba5f5bfp-41};
// (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4; error 2^-33.0.
inline constexpr double kCosF32[] = {0x1.55554ap-5, -0x1.6c0c2ap-10, 0x1.99e8b6p-16};
// The same; error 2^-63.94.
inline constexpr double kCosF64[] = {0x1.555555555554bp-5, -0x1.6c16c16c14f49p-10, 0x1.a01a019c7d0b3p-16,
    -0x1.27e4f7e55ec0ap-22, 0x1.1ee9d3f0ea716p-29, -0x1.8fa29ac7e718bp-37};
// (asin(x) - x) / x^3 in x^2, |x| <= 1/2; error 2^-27.62.
inline constexpr double kAsinF32[] = {0x1.5555c8p-3, 0x1.3301e6p-4, 0x1.747e18p-5, 0x1.8c2a1ep-6, 0x1.596b96p-5};
// The same; error 2^-59.86.
inline constexpr double kAsinF64[] = {0x1.5555555555577p-3, 0x1.333333332e0f9p-4, 0x1.6db6db7214815p-5,
    0x1.f1c71a9448ca2p-6, 0x1.6e8bdef09a377p-6, 0x1.1c49ef56bcb54p-6, 0x1.ca1fa3abb6823p-7, 0x1.7584e32bdc234p-7,
    0x1.613fe924e188ep-7, 0x1.e5c66661c11f9p-9, 0x1.63a9ced2f11c2p-6, -0x1.580f2d3e891eap-6, 0x1.0b4bee9fd45e8p-5};
// (atan(t) - t) / t^3 in t^2, |t| <= tan(pi/8); error 2^-30.45.
inline constexpr double kAtanF32[] = {-0x1.55554ap-2, 0x1.999188p-3, -0x1.23b3fep-3, 0x1.b1da44p-4, -0x1.f18e1cp-5};
// The same; error 2^-59.41.
inline constexpr double kAtanF64[] = {-0x1.555555555553cp-2, 0x1.999999999569ap-3, -0x1.24924922a25b5p-3,
    0x1.c71c70e1d096bp-4, -0x1.745cf862cedacp-4, 0x1.3b1110a74eacbp-4, -0x1.10eb57d42eae3p-4, 0x1.df09c902d5d45p-5,
    -0x1.9cb9c71cb39e6p-5, 0x1.3795d5e8d25b9p-5, -0x1.24ddb06fee48ep-6};
// (atanh(x) - x) / x^3 in x^2, |x| <= 0.4; error 2^-29.72.
inline constexpr double kAtanhF32[] = {0x1.55556ap-2, 0x1.998b24p-3, 0x1.2626b8p-3, 0x1.a1333p-4, 0x1.1cfeccp-3};
// The same; error 2^-62.5.
inline constexpr double kAtanhF64[] = {0x1.5555555555552p-2, 0x1.999999999a5bfp-3, 0x1.2492492422be5p-3,
    0x1.c71c72073ce68p-4, 0x1.745d0c7e399a1p-4, 0x1.3b14d7b14b8a7p-4, 0x1.10fc34285a376p-4, 0x1.e3e300456f287p-5,
    0x1.9e708ed8b4d24p-5, 0x1.e27fa94b72918p-5, 0x1.306ffccf4e6bap-8, 0x1.c7cfb2d5dd9edp-4};
// (sinh(x) - x) / x^3 in x^2, |x| <= 1; error 2^-34.17.
inline constexpr double kSinhF32[] = {0x1.555556p-3, 0x1.111134p-7, 0x1.9ffe92p-13, 0x1.7a15a2p-19};
// The same; error 2^-63.33.
inline constexpr double kSinhF64[] = {0x1.5555555555556p-3, 0x1.11111111110a6p-7, 0x1.a01a01a028995p-13,
    0x1.71de3a465b7d8p-19, 0x1.ae64671ad4caep-26, 0x1.611a5635a005p-33, 0x1.b4c7540021c13p-41};
// erf(x) / x - 1 in x^2, |x| <= 1; error 2^-29.62.
inline constexpr double kErfF32[] = {0x1.06eba8p-3, -0x1.81273ep-2, 0x1.ce2cf8p-4, -0x1.b7f90cp-6, 0x1.5405b2p-8,
    -0x1.a3f708p-11, 0x1.496a5ep-14};
// The same; error 2^-56.92.
inline constexpr double kErfF64[] = {0x1.06eba8214db68p-3, -0x1.812746b0379bdp-2, 0x1.ce2f21a040d17p-4,
    -0x1.b82ce311fa972p-6, 0x1.565bccf92b6c4p-8, -0x1.c02db03dd8fd2p-11, 0x1.f9a2baa896d02p-14, -0x1.f4ca4d61d5e77p-17,
    0x1.b97fd31eabcdcp-20, -0x1.5c07217b66f05p-23, 0x1.d71ae4527eb8fp-27, -0x1.abadbe8c0edf7p-31};
// erf, by powers of x - center, |x| <= 4; centers first; columns by 3.875 x to the nearest integer; error 2^-29.94.
inline constexpr float kErfSixteenths[8][16] = {
    {0x0p+0f, 0x1.0832cp-2f, 0x1.081ec8p-1f, 0x1.8c6228p-1f, 0x1.083ea4p+0f, 0x1.4a60fp+0f,
     0x1.8c6198p+0f, 0x1.ce72f8p+0f, 0x1.08419ep+1f, 0x1.2948a4p+1f, 0x1.4a462cp+1f, 0x1.6b56ep+1f,
     0x1.8c582ep+1f, 0x1.ad756ep+1f, 0x1.cfd592p+1f, 0x1.ea8f96p+1f},
    {0x0p+0f, 0x1.23a184p-2f, 0x1.119332p-1f, 0x1.73eddep-1f, 0x1.b616f2p-1f, 0x1.dd30fap-1f,
     0x1.f16296p-1f, 0x1.fa8ef4p-1f, 0x1.fe34bp-1f, 0x1.ff7a1ep-1f, 0x1.ffdd8p-1f, 0x1.fff83p-1f,
     0x1.fffe7p-1f, 0x1.ffffbap-1f, 0x1.fffff6p-1f, 0x1.fffffep-1f},
    {0x1.20dd76p+0f, 0x1.0e431ep+0f, 0x1.babee4p-1f, 0x1.3d443ep-1f, 0x1.8e23fep-2f, 0x1.b4fcaep-3f,
     0x1.a45cbcp-4f, 0x1.61b484p-5f, 0x1.0484ap-6f, 0x1.4ff5fcp-8f, 0x1.7bcdf4p-10f, 0x1.76b4a4p-12f,
     0x1.446e84p-14f, 0x1.e90c2ep-17f, 0x1.2c38fcp-19f, 0x1.fa4802p-22f},
    {-0x1.1c33d8p-25f, -0x1.16eacap-2f, -0x1.c8ca16p-2f, -0x1.eb3f36p-2f, -0x1.9af68ap-2f, -0x1.19f998p-2f,
     -0x1.456fdap-3f, -0x1.3f795p-4f, -0x1.0ceb8cp-5f, -0x1.8623b4p-7f, -0x1.e9ff8ep-9f, -0x1.09e89ap-10f,
     -0x1.f64a78p-13f, -0x1.9a349p-15f, -0x1.0ffbdp-17f, -0x1.e50cecp-20f},
    {-0x1.81267ep-2f, -0x1.385efp-2f, -0x1.142524p-3f, 0x1.503ae2p-5f, 0x1.2c29fcp-3f, 0x1.53898ep-3f,
     0x1.09df4cp-3f, 0x1.45cb9ep-4f, 0x1.46b5a8p-5f, 0x1.120a6ep-6f, 0x1.85c806p-8f, 0x1.d7f124p-10f,
     0x1.eb53dap-12f, 0x1.b6467p-14f, 0x1.3be3f6p-16f, 0x1.2b485p-18f},
    {-0x1.a068bp-14f, 0x1.0a88e2p-3f, 0x1.77bf0cp-3f, 0x1.26f49cp-3f, 0x1.dc3c24p-5f, -0x1.f1bab4p-7f,
     -0x1.85680cp-5f, -0x1.778a34p-5f, -0x1.ef3544p-6f, -0x1.fa6cf4p-7f, -0x1.a5386ap-8f, -0x1.229de2p-9f,
     -0x1.52886ap-11f, -0x1.4d7e1ep-13f, -0x1.073c5cp-15f, -0x1.0b8964p-17f},
    {0x1.d447aap-4f, 0x1.3dfc8ap-4f, 0x1.6d0136p-9f, -0x1.cdc64cp-5f, -0x1.14c3cep-4f, -0x1.56c2fcp-5f,
     -0x1.3cb08ap-7f, 0x1.2a27d2p-7f, 0x1.a75efp-7f, 0x1.31e2acp-7f, 0x1.3f0cb8p-8f, 0x1.0558b4p-9f,
     0x1.5e1376p-11f, 0x1.84af4ap-13f, 0x1.562356p-15f, 0x1.6e81c6p-17f},
    {-0x1.5190d2p-7f, -0x1.510474p-5f, -0x1.920d9p-5f, -0x1.83e52ap-6f, 0x1.fb084ap-8f, 0x1.67137ap-6f,
     0x1.1f442p-6f, 0x1.b5b78p-8f, -0x1.b7f608p-11f, -0x1.94a82p-9f, -0x1.416fb8p-9f, -0x1.505836p-10f,
     -0x1.0beb5ap-11f, -0x1.5626bcp-13f, -0x1.64d796p-15f, -0x1.475356p-17f}};
// tanh, by powers of x - center, |x| < 9.23; centers first; columns by the lowest bits of the exponent of
// 1 + 1.625 x and the highest of its fraction; error 2^-29.16.
inline constexpr float kTanhQuarters[8][16] = {
    {0x1.89cf46p-1f, 0x1.13b64ap+0f, 0x1.627536p+0f, 0x1.b14104p+0f, 0x1.13b3cep+1f, 0x1.627552p+1f,
     0x1.b13c36p+1f, 0x1.00005ap+2f, 0x1.3b08c4p+2f, 0x1.89c0ep+2f, 0x1.d8707ap+2f, 0x1.154246p+3f,
     0x0p+0f, 0x1.d89f1ep-3f, 0x1.89d8a4p-2f, 0x1.13b636p-1f},
    {0x1.4afa3ep-1f, 0x1.958c0ap-1f, 0x1.c3928ap-1f, 0x1.de707ep-1f, 0x1.f265c6p-1f, 0x1.fbfd16p-1f,
     0x1.fed346p-1f, 0x1.ffa818p-1f, 0x1.fff21ap-1f, 0x1.fffedp-1f, 0x1.ffffe6p-1f, 0x1.fffffep-1f,
     0x0p+0f, 0x1.d06814p-3f, 0x1.778292p-2f, 0x1.f7a7ep-2f},
    {0x1.2a0af2p-1f, 0x1.7d8b9cp-2f, 0x1.c6e4b2p-3f, 0x1.03af7p-3f, 0x1.ad7efcp-5f, 0x1.ff722ap-7f,
     0x1.2c61c2p-8f, 0x1.5f81ecp-10f, 0x1.bcc2c6p-13f, 0x1.3005bcp-16f, 0x1.a0083ap-20f, 0x1.000534p-23f,
     0x1p+0f, 0x1.e5ac34p-1f, 0x1.bb2606p-1f, 0x1.84235cp-1f},
    {-0x1.815574p-2f, -0x1.2e374ap-2f, -0x1.9134a6p-3f, -0x1.e553bp-4f, -0x1.a215e4p-5f, -0x1.fb7048p-7f,
     -0x1.2bb144p-8f, -0x1.5f457ep-10f, -0x1.bcafccp-13f, -0x1.300016p-16f, -0x1.a000f2p-20f, -0x1.000c62p-23f,
     -0x1.4936cap-23f, -0x1.b886cap-3f, -0x1.45035cp-2f, -0x1.7ddp-2f},
    {0x1.931f04p-5f, 0x1.c0cbf2p-4f, 0x1.9474b2p-4f, 0x1.18655ap-4f, 0x1.07d47ap-5f, 0x1.4cf448p-7f,
     0x1.8db422p-9f, 0x1.d3aa78p-11f, 0x1.27a99cp-13f, 0x1.9451f8p-17f, 0x1.14a61p-20f, 0x1.54839cp-24f,
     -0x1.555244p-2f, -0x1.11d584p-2f, -0x1.607ecp-3f, -0x1.1bdbdcp-4f},
    {0x1.7f79c6p-4f, 0x1.7bd8cep-7f, -0x1.64f9p-6f, -0x1.90f43ep-6f, -0x1.d5d50ep-7f, -0x1.427346p-8f,
     -0x1.8a12dap-10f, -0x1.d271fep-12f, -0x1.27ed14p-14f, -0x1.94dee4p-18f, -0x1.15125p-21f, -0x1.5313f2p-25f,
     -0x1.562edep-12f, 0x1.0f07c4p-3f, 0x1.59efd6p-3f, 0x1.44594ap-3f},
    {-0x1.02b448p-4f, -0x1.32e9a2p-5f, -0x1.2581d2p-7f, 0x1.6af5d8p-9f, 0x1.1c9516p-8f, 0x1.e73a7ep-10f,
     0x1.39cb6cp-11f, 0x1.78e00cp-13f, 0x1.f820bp-16f, 0x1.593464p-19f, 0x1.d86f98p-23f, 0x1.222e64p-26f,
     0x1.1985e2p-3f, 0x1.47b5d4p-4f, 0x1.e56e48p-7f, -0x1.3450fap-5f},
    {0x1.66ab08p-10f, 0x1.37bf5cp-6f, 0x1.5d46eep-7f, 0x1.7a4a3ep-9f, -0x1.3242ep-11f, -0x1.16ad4cp-11f,
     -0x1.90c432p-13f, -0x1.ef032ap-15f, -0x1.49e782p-17f, -0x1.c3fbc4p-21f, -0x1.34a77p-24f, -0x1.9f320cp-28f,
     -0x1.8caecap-6f, -0x1.117d26p-4f, -0x1.189c48p-4f, -0x1.5b30c2p-5f}};
// The same of e^(x^2) erfc(x) by 1 + 1.375 x, |x| < 10.9; error 2^-27.61.
inline constexpr float kErfcQuarters[8][16] = {
    {0x1.d172f4p-1f, 0x1.45ca72p+0f, 0x1.a2e914p+0f, 0x1.0000dp+1f, 0x1.45c8eap+1f, 0x1.a2ef42p+1f,
     0x1.ffec4p+1f, 0x1.2e8ea8p+2f, 0x1.745b1ep+2f, 0x1.d14dc6p+2f, 0x1.173712p+3f, 0x1.45de96p+3f,
     0x1.7455d6p-4f, 0x1.17620ep-2f, 0x1.d1812ap-2f, 0x1.45c668p-1f},
    {0x1.d0a71p-2f, 0x1.73de7ap-2f, 0x1.33d2fp-2f, 0x1.0585cp-2f, 0x1.a8f3fp-3f, 0x1.5273d4p-3f,
     0x1.189d68p-3f, 0x1.de8e4cp-4f, 0x1.8792bcp-4f, 0x1.3aedecp-4f, 0x1.072436p-4f, 0x1.c3b3b6p-5f,
     0x1.cf70ecp-1f, 0x1.81e1c4p-1f, 0x1.478ae4p-1f, 0x1.1a9c4p-1f},
    {-0x1.36a5bcp-2f, -0x1.a1ed98p-3f, -0x1.2810ecp-3f, -0x1.b56e08p-4f, -0x1.277dbep-4f, -0x1.7dd78ap-5f,
     -0x1.095c04p-5f, -0x1.848becp-6f, -0x1.05ca3ep-6f, -0x1.5444dp-7f, -0x1.dc62e2p-8f, -0x1.5f82bcp-8f,
     -0x1.ed797ap-1f, -0x1.6f2a7ep-1f, -0x1.17eea4p-1f, -0x1.b42f0ap-2f},
    {0x1.6c7f9ap-3f, 0x1.a7bfa6p-4f, 0x1.06595ep-4f, 0x1.56705p-5f, 0x1.874b5p-6f, 0x1.a046fp-7f,
     0x1.e97434p-8f, 0x1.358b64p-8f, 0x1.59766p-9f, 0x1.6c6fbap-10f, 0x1.ac8b4p-11f, 0x1.104728p-11f,
     0x1.a2954cp-1f, 0x1.1db4c8p-1f, 0x1.9092ecp-2f, 0x1.1faf9ep-2f},
    {-0x1.829148p-4f, -0x1.8b6fep-5f, -0x1.b2365p-6f, -0x1.fa9736p-7f, -0x1.f010d4p-8f, -0x1.b7c53cp-9f,
     -0x1.b8ee86p-10f, -0x1.e46822p-11f, -0x1.c20e3ap-12f, -0x1.82f808p-13f, -0x1.7f2478p-14f, -0x1.a3e088p-15f,
     -0x1.2f9d4ap-1f, -0x1.819e58p-2f, -0x1.f7af8ap-3f, -0x1.51832cp-3f},
    {0x1.798d42p-5f, 0x1.583cb4p-6f, 0x1.52d934p-7f, 0x1.648bb8p-8f, 0x1.2e6d66p-9f, 0x1.c35a86p-11f,
     0x1.8495f8p-12f, 0x1.7497b8p-13f, 0x1.21a288p-14f, 0x1.978444p-16f, 0x1.5483dep-17f, 0x1.424acp-18f,
     0x1.86fb6ap-2f, 0x1.d23312p-3f, 0x1.1e161p-3f, 0x1.689e52p-4f},
    {-0x1.5b6ec8p-6f, -0x1.1c9c16p-7f, -0x1.f9d414p-9f, -0x1.e2f2f4p-10f, -0x1.6a7296p-11f, -0x1.c91178p-13f,
     -0x1.52d9f4p-14f, -0x1.1c2f4ep-15f, -0x1.78ea6ap-17f, -0x1.b04f2ep-19f, -0x1.303776p-20f, -0x1.f0b8e2p-22f,
     -0x1.cb2776p-3f, -0x1.02891cp-3f, -0x1.2bdefep-4f, -0x1.657fcep-5f},
    {0x1.29aa62p-7f, 0x1.ba543ep-9f, 0x1.65eb5ap-10f, 0x1.38519p-11f, 0x1.9c30f4p-13f, 0x1.bd2ceap-15f,
     0x1.1e76bap-16f, 0x1.a763a6p-18f, 0x1.d9a9c8p-20f, 0x1.bf0f12p-22f, 0x1.0adf58p-23f, 0x1.7a3cf2p-25f,
     0x1.ef4aa2p-4f, 0x1.08db26p-4f, 0x1.23bc4p-5f, 0x1.4a6912p-6f}};
// erf, by powers of x - center, |x| <= 4; centers first; columns by 1.875 x to the nearest integer; error 2^-27.28.
inline constexpr float kErfEighths[9][8] = {
    {0x0p+0f, 0x1.ecd6a2p-2f, 0x1.03bc6ap+0f, 0x1.8c4808p+0f, 0x1.0a6724p+1f, 0x1.4eabfcp+1f,
     0x1.92e994p+1f, 0x1.d8788p+1f},
    {0x0p+0f, 0x1.01ff8cp-1f, 0x1.b284fap-1f, 0x1.f15d56p-1f, 0x1.fe5674p-1f, 0x1.ffe37ap-1f,
     0x1.fffee2p-1f, 0x1.fffffap-1f},
    {0x1.20dd76p+0f, 0x1.ca465ep-1f, 0x1.9cc13ap-2f, 0x1.a4decap-4f, 0x1.e60a98p-7f, 0x1.3db8b4p-10f,
     0x1.d6fc48p-15f, 0x1.6e8ff6p-20f},
    {-0x1.7d7abep-26f, -0x1.b91fbap-2f, -0x1.a2c746p-2f, -0x1.45bf86p-3f, -0x1.f9cae2p-6f, -0x1.9f5c66p-9f,
     -0x1.72a226p-13f, -0x1.52434ep-18f},
    {-0x1.8126fp-2f, -0x1.47f056p-3f, 0x1.2356f2p-3f, 0x1.0a04fap-3f, 0x1.366784p-5f, 0x1.4f8702p-8f,
     0x1.712b5cp-12f, 0x1.908716p-17f},
    {-0x1.cbcedcp-16f, 0x1.74fa88p-3f, 0x1.06c9cp-4f, -0x1.853cbap-5f, -0x1.dd71dp-6f, -0x1.716b92p-8f,
     -0x1.03a30cp-11f, -0x1.552474p-16f},
    {0x1.cf4e2cp-4f, 0x1.9e366ap-7f, -0x1.18a13p-4f, -0x1.37a3dap-7f, 0x1.a4d04cp-7f, 0x1.1db4cp-8f,
     0x1.11681ap-11f, 0x1.c317e4p-16f},
    {-0x1.5dc96ap-10f, -0x1.992556p-5f, 0x1.7d0324p-8f, 0x1.1e4b22p-6f, -0x1.193d08p-10f, -0x1.2c593ep-9f,
     -0x1.b7016ep-12f, -0x1.de5208p-16f},
    {-0x1.8b7338p-6f, 0x1.f36c1p-8f, 0x1.8fb44ep-7f, -0x1.7dd0e6p-8f, -0x1.dce0cap-10f, 0x1.5d19dp-11f,
     0x1.b5ce3p-13f, 0x1.38b58p-16f}};
// tanh, by powers of x - center, |x| < 9.23; centers first; columns by the lowest bits of the exponent of
// 1 + 1.625 x and the highest of its fraction; error 2^-28.5.
inline constexpr float kTanhHalves[10][8] = {
    {0x1.d8a5f6p-1f, 0x1.89d336p+0f, 0x1.3b0dap+1f, 0x1.d89e9p+1f, 0x1.6274d2p+2f, 0x1.fe2804p+2f,
     0x0p+0f, 0x1.d8a4dap-2f},
    {0x1.746b28p-1f, 0x1.d2ddbp-1f, 0x1.f8998ap-1f, 0x1.ff5d64p-1f, 0x1.fffbf2p-1f, 0x1.fffff8p-1f,
     0x0p+0f, 0x1.b9b66ep-2f},
    {0x1.e23866p-2f, 0x1.592856p-3f, 0x1.d63168p-6f, 0x1.450454p-9f, 0x1.037544p-14f, 0x1.ffedacp-22f,
     0x1p+0f, 0x1.a0bb3ep-1f},
    {-0x1.5ec1e8p-2f, -0x1.3abb2ap-3f, -0x1.cf659p-6f, -0x1.449d22p-9f, -0x1.037b0ap-14f, -0x1.0002dcp-21f,
     0x1.df1fb4p-27f, -0x1.6785c4p-2f},
    {0x1.799458p-4f, 0x1.57de64p-4f, 0x1.2bf382p-6f, 0x1.afc08ap-10f, 0x1.5aa08ap-15f, 0x1.55f74ap-22f,
     -0x1.555596p-2f, -0x1.eaf31cp-4f},
    {0x1.821356p-5f, -0x1.9ef112p-6f, -0x1.1a521ap-7f, -0x1.ad99aep-11f, -0x1.5a2d3ap-16f, -0x1.553c22p-23f,
     0x1.b6f3eap-16f, 0x1.5991d2p-3f},
    {-0x1.bf1f8cp-5f, -0x1.2cb742p-10f, 0x1.8df396p-9f, 0x1.53f326p-12f, 0x1.0e6a3ep-17f, 0x1.0b0abcp-24f,
     0x1.105b9cp-3f, -0x1.e2bbbp-7f},
    {0x1.0b9a1ap-6f, 0x1.8e2c6ap-8f, -0x1.858a36p-11f, -0x1.bc701cp-14f, -0x1.6bdaa8p-19f, -0x1.6b0318p-26f,
     0x1.4931e6p-9f, -0x1.d89256p-5f},
    {0x1.0298ap-7f, -0x1.db034ap-9f, 0x1.10d162p-15f, 0x1.f87fdcp-16f, 0x1.fadf4ap-21f, 0x1.f4192ep-28f,
     -0x1.0726f2p-4f, 0x1.946928p-6f},
    {-0x1.1ef7e8p-7f, 0x1.0735b2p-10f, 0x1.090374p-14f, -0x1.c57ffep-18f, -0x1.e732ep-23f, -0x1.cb6c28p-30f,
     0x1.732e54p-6f, 0x1.a22286p-7f}};
// The same of e^(x^2) erfc(x) by 1 + 1.375 x, |x| < 10.9; error 2^-28.19.
inline constexpr float kErfcHalves[10][8] = {
    {0x1.17465cp+0f, 0x1.d167fcp+0f, 0x1.745c6p+1f, 0x1.1741d6p+2f, 0x1.a2fap+2f, 0x1.2e89a8p+3f,
     0x1.7463a8p-3f, 0x1.17371ep-1f},
    {0x1.9da86ep-2f, 0x1.1af30ap-2f, 0x1.78fef8p-3f, 0x1.025716p-3f, 0x1.5d04b8p-4f, 0x1.e62bcep-5f,
     0x1.a5d0c2p-1f, 0x1.2fb2fcp-1f},
    {-0x1.f9daa6p-3f, -0x1.faa434p-4f, -0x1.d60608p-5f, -0x1.c386fep-6f, -0x1.a117bcp-7f, -0x1.96e842p-8f,
     -0x1.a85506p-1f, -0x1.ecfaecp-2f},
    {0x1.13788ap-3f, 0x1.a57434p-5f, 0x1.194e38p-6f, 0x1.821ee4p-8f, 0x1.ed2b0ep-10f, 0x1.52c05ap-11f,
     0x1.58a8aap-1f, 0x1.528e2ap-2f},
    {-0x1.11c916p-4f, -0x1.4971a8p-6f, -0x1.44912ep-8f, -0x1.4380acp-10f, -0x1.209376p-12f, -0x1.18887ap-14f,
     -0x1.e23788p-2f, -0x1.9b22b2p-3f},
    {0x1.f88884p-6f, 0x1.e7f6e2p-8f, 0x1.6a1e4ep-10f, 0x1.09d6f8p-12f, 0x1.4e560ep-15f, 0x1.ce3cb2p-18f,
     0x1.2cd16ap-2f, 0x1.c4e6bp-4f},
    {-0x1.b38296p-7f, -0x1.586b12p-9f, -0x1.86eda4p-12f, -0x1.aca754p-15f, -0x1.7e5eaep-18f, -0x1.7a9016p-21f,
     -0x1.55fb44p-3f, -0x1.cc3264p-5f},
    {0x1.63944cp-8f, 0x1.d1fb8ep-11f, 0x1.9b114ap-14f, 0x1.53d834p-17f, 0x1.b292fap-21f, 0x1.34be6ep-24f,
     0x1.679a64p-4f, 0x1.b4865p-6f},
    {-0x1.1f61bep-9f, -0x1.3806dcp-12f, -0x1.c5823ep-16f, -0x1.14dde6p-19f, -0x1.0d6358p-23f, -0x1.073fa8p-27f,
     -0x1.66e742p-5f, -0x1.8aed9p-7f},
    {0x1.a968d8p-11f, 0x1.86fcc4p-14f, 0x1.c34de8p-18f, 0x1.a8267cp-22f, 0x1.2c7d1ep-26f, 0x1.a8e5ep-31f,
     0x1.4c061ep-6f, 0x1.4df538p-8f}};
// erf(x) / x in x^2 / 3.92 - 1, |x| <= 2.8; error 2^-24.74.
inline constexpr double kErfOf16Bits[] = {0x1.01470cp-1, -0x1.eba12cp-3, 0x1.43ca68p-3, -0x1.a6372ep-4, 0x1.fc9822p-5,
    -0x1.156ccp-5, 0x1.11ec9p-6, -0x1.e550d4p-8, 0x1.768d4p-9, -0x1.1c4456p-10, 0x1.013db6p-11, -0x1.2be7f4p-13};
// log(erfc(x)) in x - 1, 1 <= x <= 4, error as it shows in erf; error 2^-29.86.
inline constexpr double kErfcLogF32[] = {-0x1.d97fcp+0, -0x1.51c9aap+1, -0x1.afad36p-1, -0x1.53f908p-5, 0x1.44194cp-7,
    -0x1.deaea8p-10, 0x1.851a04p-13};
// log(erfc(x)) in x - 1, 1 <= x <= 6, error as it shows in erf; error 2^-59.53.
inline constexpr double kErfcLogF64[] = {-0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c236p+1, -0x1.afabc11a295f5p-1,
    -0x1.5477f09c03635p-5, 0x1.48c9d3eb1cce1p-7, -0x1.033f65afd9d75p-9, 0x1.f1b3896965aecp-13, 0x1.b8de9f908ab9fp-16,
    -0x1.c7a785f333b92p-16, 0x1.426bea8cdde13p-17, -0x1.1475b4695d41ap-19, 0x1.32d9bbe84651ap-23, 0x1.a2ecb87ef3d36p-24,
    -0x1.bef6da688bc5cp-25, 0x1.002665068a7ffp-26, -0x1.8993d33c5b8ffp-29, 0x1.94d2b1abeba95p-32,
    -0x1.fad1c674156dep-36, 0x1.24676bba0d01p-40};
// (e^(x^2) erfc(x) (1 + 2x) - first) / t in t = (x - 2.25) / (x + 2.25), 1/2 <= x <= 10.1; error 2^-28.2.
inline constexpr double kErfcF32[] = {-0x1.c39b66p-4, -0x1.0bd6b4p-3, 0x1.527226p-3, -0x1.5477fep-4, 0x1.76c072p-7,
    0x1.06d09ep-7, -0x1.543412p-9, -0x1.f4f5aap-11, 0x1.774b0ep-12};
// first
inline constexpr double kErfcFirstF32[] = {0x1.455efp+0, 0x1.89ab4ap-25};
// (e^(x^2) erfc(x) (1 + 2x) - first) / t in t = (x - 3.75) / (x + 3.75), 1/2 <= x <= 27.3; error 2^-57.84.
inline constexpr double kErfcF64[] = {-0x1.1f367683f89a6p-3, 0x1.d5f294815af0cp-9, 0x1.510169d09676ep-4,
    -0x1.bda9309a2af63p-4, 0x1.7a14188a9b478p-4, -0x1.e0d0fa6d7d8a7p-5, 0x1.d0b0037d4f3c7p-6, -0x1.3f603c5039b03p-7,
    0x1.cc3a0e777fc5ep-10, 0x1.33fb4177031e2p-12, -0x1.303fa65c89fbdp-12, 0x1.b13fa774530f7p-15, 0x1.778c77c8be795p-16,
    -0x1.7fcba2de77cap-17, -0x1.058a41f45f31cp-20, 0x1.d2a5b155b9f4ep-20, -0x1.de3df36a63f9ap-25,
    -0x1.029832b44f87dp-22, 0x1.701fed39c8ec2p-26, 0x1.a954f85d1d5ecp-26, -0x1.6104a6e5ecf99p-29};
// first
inline constexpr double kErfcFirstF64[] = {0x1.3ccda0b5d5dc2p+0, 0x1.d05b2b63705dap-54};
// Inverses of numbers in the middle of sixteenths of 0.69921875 <= x < 1.3984375 in their bits, of which 1 is one, and
// the numbers' logarithms by 2.
inline constexpr double kPowInverses[] = {0x1.661ec6a5122f9p+0, 0x1.571ed3c506b3ap+0, 0x1.49539e3b2d067p+0,
    0x1.3c995a47babe7p+0, 0x1.30d190130d19p+0, 0x1.25e22708092f1p+0, 0x1.1bb4a4046ed29p+0, 0x1.12358e75d3033p+0,
    0x1.0953f39010954p+0, 0x1p+0, 0x1.e573ac901e574p-1, 0x1.ca4b3055ee191p-1, 0x1.b2036406c80d9p-1,
    0x1.9c2d14ee4a102p-1, 0x1.886e5f0abb04ap-1, 0x1.767dce434a9b1p-1};
inline constexpr double kPowLogarithms[] = {-0x1.efec61b011f85p-2, -0x1.b0b67f4f46812p-2, -0x1.7418acebbf18fp-2,
    -0x1.39de8e1559f6ep-2, -0x1.01d9bbcfa61d4p-2, -0x1.97c1cb13c7ecp-3, -0x1.2f9e32d5bfdd1p-3, -0x1.960caf9abb7c1p-4,
    -0x1.a6f9c377dd31dp-5, 0x0p+0, 0x1.3aa2fdd27f1bfp-4, 0x1.476a9f983f74dp-3, 0x1.e840be74e6a4dp-3,
    0x1.406463b1b0448p-2, 0x1.88e9c72e0b224p-2, 0x1.ce0a4923a587dp-2};
// log2(1 + r) / r of what is left of a number times such an inverse; error 2^-38.27.
inline constexpr double kPowLog2F64[] = {0x1.71547652bcfb9p+0, -0x1.71547652d1e04p-1, 0x1.ec7097c300fbbp-2,
    -0x1.71546ea02fb95p-2, 0x1.27bdf925cefd7p-2, -0x1.ecfebf18acf59p-3};
// (2^r - 1) / r, |r| <= 1/64; error 2^-43.55.
inline constexpr double kPowExp2F64[] = {0x1.62e42fef6d0a2p-1, 0x1.ebfbdff7f7e93p-3, 0x1.c6b167db46971p-5,
    0x1.3b2b3c2c6957p-7};
// The bits of 2^(i / 32), less i in the places of 32nds of an exponent.
inline constexpr uint64_t kPowExponentials[] = {0x3ff0000000000000, 0x3fefd9b0d3158574, 0x3fefb5586cf9890f,
    0x3fef9301d0125b51, 0x3fef72b83c7d517b, 0x3fef54873168b9aa, 0x3fef387a6e756238, 0x3fef1e9df51fdee1,
    0x3fef06fe0a31b715, 0x3feef1a7373aa9cb, 0x3feedea64c123422, 0x3feece086061892d, 0x3feebfdad5362a27,
    0x3feeb42b569d4f82, 0x3feeab07dd485429, 0x3feea47eb03a5585, 0x3feea09e667f3bcd, 0x3fee9f75e8ec5f74,
    0x3feea11473eb0187, 0x3feea589994cce13, 0x3feeace5422aa0db, 0x3feeb737b0cdc5e5, 0x3feec49182a3f090,
    0x3feed503b23e255d, 0x3feee89f995ad3ad, 0x3feeff76f2fb5e47, 0x3fef199bdd85529c, 0x3fef3720dcef9069,
    0x3fef5818dcfba487, 0x3fef7c97337b9b5f, 0x3fefa4afa2a490da, 0x3fefd0765b6e4540};
// m^(-1/3), 1 <= m <= 2: a first guess; error 2^-14.7.
inline constexpr double kInverseCubeRoot[] = {0x1.ab8568p+0, -0x1.2c416p+0, 0x1.641524p-1, -0x1.c5161p-3,
    0x1.d46c2ep-6};
// ln 2, the first part short
inline constexpr double kLn2F32[] = {0x1.62e4p-1, 0x1.7f7d1cp-20};
// ln 2
inline constexpr double kLn2FullF32[] = {0x1.62e43p-1, -0x1.05c61p-29};
// 1 / ln 2
inline constexpr double kLog2EF32[] = {0x1.715476p+0, 0x1.4ae0cp-26};
// pi / 2
inline constexpr double kHalfPiF32[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};
// ln 2, the first part short
inline constexpr double kLn2F64[] = {0x1.62e42fefa4p-1, -0x1.8432a1b0e2634p-43};
// ln 2
inline constexpr double kLn2FullF64[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
// 1 / ln 2
inline constexpr double kLog2EF64[] = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
// pi / 2
inline constexpr double kHalfPiF64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
// 2 / pi
inline constexpr double kTwoOverPi[] = {0x1.45f306dc9c883p-1};
// The bits of 2 / pi after the binary point, most significant word first, behind a word of zeros.
inline constexpr uint64_t kTwoOverPiBits[] = {0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab, 0xf0cfbc209af4361d, 0xa9e391615ee61b08, 0x6599855f14a06840};

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_COEFFICIENTS_H_
